"""A schedule: one repeating job under its own name, owned by the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from .asynchronous import twin
from .control import check_not_own_atomic
from .jobs import Job
from .lifecycle import changing, reading
from .registry import Declaration
from .worker.inline import run_due
from .worker.worker import Worker

F = TypeVar("F", bound=Callable[..., Any])


class Schedule:
    """Made by `store.schedule(...)`. Its job is there from when a worker, `work` or `run_due` has opened it."""

    def __init__(self, declaration: Declaration) -> None:
        self._declaration = declaration

    @property
    def name(self) -> str:
        """What it was declared as."""
        return self._declaration.name

    def __repr__(self) -> str:
        return f"<Schedule {self.name}>"

    @overload
    def handler(self, fn: F) -> F: ...
    @overload
    def handler(self, *, atomic: bool) -> Callable[[F], F]: ...
    def handler(self, fn: F | None = None, *, atomic: bool = False) -> F | Callable[[F], F]:
        """Makes a function the schedule's handler: `(run)` or `()`, sync or async.

        Raises:
            InvalidError: the schedule has one already, or it cannot be one.
        """

        def register(fn: F) -> F:
            self._declaration.register(fn, atomic)
            return fn

        return register if fn is None else register(fn)

    def get(self) -> Job[None] | None:
        """When it is due next, its last run and its last error; None before it was opened and after a cancel."""
        return reading.get(self._declaration.alias, self.name, self.name, self._declaration.codec)

    def cancel(self) -> bool:
        """Takes its job away until a worker starts with it or run_due opens it again; whether there was one.

        Raises:
            InvalidError: a handler with `atomic=True` cancels the schedule it runs for.
        """
        alias = self._declaration.alias
        check_not_own_atomic(alias, self.name, self.name)
        return changing.cancel(alias, self.name, self.name)

    def work(self, handler: Callable[..., Any] | None = None) -> Worker:
        """Starts a worker of this schedule in this process; a context manager.

        Raises:
            InvalidError: there is no handler.
        """
        return Worker([self._declaration.handled_by(handler)]).start()

    def run_due(self, handler: Callable[..., Any] | None = None, *, raises: bool = False) -> int:
        """Opens it, and runs it in this thread if it is due; how many runs were settled.

        Args:
            handler: takes the place of the schedule's for this call.
            raises: the handler's exception is raised, once its run is settled.

        Raises:
            InvalidError: there is no handler.
        """
        return run_due([self._declaration.handled_by(handler)], raises=raises)

    aget = twin(get)
    acancel = twin(cancel)
    arun_due = twin(run_due)
