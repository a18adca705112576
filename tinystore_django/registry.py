"""What this process declared: its queues and schedules, and the handler of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakSet

from asgiref.sync import iscoroutinefunction
from django.db import router

from .errors import InvalidError, quoted
from .models import Job
from .options import QueueOptions
from .timing.repeats import Repeat
from .values import Codec


@dataclass(frozen=True, slots=True)
class Handler:
    """A function that runs jobs, and how to call it."""

    fn: Callable[..., Any]
    takes_run: bool
    is_async: bool
    atomic: bool = False


@dataclass(slots=True, eq=False, weakref_slot=True)
class Declaration:
    """A queue or a schedule (which has a repeat) as its code declared it; its handler comes later."""

    registry: Registry
    name: str
    codec: Codec[Any]
    options: QueueOptions
    repeat: Repeat | None = None
    handler: Handler | None = None
    warned: set[tuple[str, int]] = field(default_factory=set)

    @property
    def alias(self) -> str:
        return self.registry.alias

    @property
    def kind(self) -> str:
        return "schedule" if self.repeat else "queue"

    def register(self, fn: Callable[..., Any], atomic: bool = False) -> None:
        """Makes a function the handler.

        Raises:
            InvalidError: there is one already, or it cannot be one.
        """
        if self.handler is not None:
            raise InvalidError(f"{self.kind} {self.name!r} has a handler already, {_named(self.handler.fn)}")
        self.handler = self.handler_of(fn, atomic)

    def handler_of(self, fn: Callable[..., Any], atomic: bool = False) -> Handler:
        if not callable(fn):
            raise InvalidError(f"handler {quoted(fn)} of {self.kind} {self.name!r}: give a function")
        is_async = iscoroutinefunction(fn) or iscoroutinefunction(type(fn).__call__)
        if is_async and atomic:
            raise InvalidError(
                f"handler {_named(fn)} is async, and Django's transactions are not: write a sync one for atomic=True"
            )
        return Handler(fn, _takes_run(fn, values=0 if self.repeat else 1), is_async, atomic)

    def handled_by(self, fn: Callable[..., Any] | None) -> Declaration:
        """Itself, or with another handler for one `work` or `run_due`.

        Raises:
            InvalidError: there is no handler.
        """
        if fn is not None:
            return replace(self, handler=self.handler_of(fn))
        if self.handler is None:
            raise InvalidError(f"{self.kind} {self.name!r} has no handler: write @{self.name}.handler above a function")
        return self


class Registry:
    """The declarations of one store, by name: queues and schedules share their names."""

    def __init__(self, using: str | None = None) -> None:
        self.using = using
        self.declarations: dict[str, Declaration] = {}
        _registries.add(self)

    @property
    def alias(self) -> str:
        """The database: the store's own, or the one the project's routers name for writing jobs."""
        return self.using or router.db_for_write(Job)

    def declare(self, declaration: Declaration) -> Declaration:
        """Keeps a declaration, or gives back the same one made before.

        Raises:
            InvalidError: its name is taken by a declaration with another type or other options.
        """
        before = self.declarations.setdefault(declaration.name, declaration)
        if not _same(before, declaration):
            raise InvalidError(
                f"{before.kind} {before.name!r} is declared already, with another type or other options: "
                f"declare it once, and import it from there"
            )
        return before


_registries: WeakSet[Registry] = WeakSet()


def declared() -> Iterator[Declaration]:
    """All queues and schedules of this process."""
    for registry in tuple(_registries):
        yield from registry.declarations.values()


def find(alias: str, name: str) -> Declaration | None:
    """The queue or schedule of that name on a database, if this process declares it."""
    found = (registry.declarations.get(name) for registry in tuple(_registries))
    return next((one for one in found if one is not None and one.alias == alias), None)


def _same(one: Declaration, other: Declaration) -> bool:
    return (one.codec.of, one.options, one.repeat) == (other.codec.of, other.options, other.repeat)


def _takes_run(fn: Callable[..., Any], values: int) -> bool:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # a builtin without one
        return False
    # A function that can be called neither way is called with both: its attempt fails with Python's own words.
    return _binds(signature, values + 1) or not _binds(signature, values)


def _binds(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _named(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
