"""The worker's side of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from .databases.rows import Held
from .errors import ConflictError, InvalidError, RunStopped, quoted
from .lifecycle.aftermath import Ending
from .values import plain

Why = Literal["timeout", "cancelled", "lost"]


@dataclass(slots=True, eq=False)
class Control:
    """How a worker stops a run, and what it sees of it: the answers made, the steps kept, the progress reported."""

    alias: str
    held: Held
    is_async: bool = False
    atomic: bool = False
    why: Why | None = None
    answers: list[Outcome] = field(default_factory=list)
    kept: dict[str, str] | None = None  # the answers of its job's steps, once they were read
    kept_steps: bool = False
    doing: dict[str, object] = field(default_factory=dict)  # the steps at work, by name
    progress: str | None = None  # the latest that was reported
    shown: str | None = None  # the one of them that was written
    on_progress: Callable[[], object] = lambda: None
    on_stop: Callable[[], object] | None = None
    over: bool = False  # its handler has ended, though something that it started may go on
    handled_outside: BaseException | None = None  # what was being handled as its handler was called
    began: float = field(default_factory=time.monotonic)
    # The run whose handler started this one, by `run_due`.
    outer: Control | None = field(default=None, repr=False)
    in_step: bool = False  # whether it is in a step with atomic=True
    # Whether its job is cancelled, asked where no thread of its worker's looks for that.
    asks: Callable[[], bool] | None = None

    @property
    def has_news(self) -> bool:
        """Whether it has reported progress that is not written yet and that somebody may still see."""
        return self.progress != self.shown and not self.over

    def stop(self, why: Why) -> None:
        """Tells the handler to end: an async one is cancelled, a sync one finds out at its next step."""
        if self.why is None:
            self.why = why
            if self.on_stop is not None:
                self.on_stop()

    def stopped(self) -> Why | None:
        """Why it should end, if it should."""
        if self.why is None and self.asks is not None and self.asks():
            return "cancelled"  # and not for good: the cancel is rolled back with the block that it was made in
        return self.why

    def end(self) -> None:
        """Notes that its handler has ended. Its answers go: what one keeps of an exception leads back here."""
        self.over = True
        self.answers.clear()
        self.handled_outside = None

    def check_going(self) -> None:
        """Raises what a stopped run's next step raises."""
        why = self.stopped()
        if why == "lost":
            raise ConflictError("the run's lease was lost: another worker may run the job already")
        if why is not None:
            raise RunStopped("the job was cancelled" if why == "cancelled" else "the run passed its timeout")
        self.check_not_over()

    def check_not_over(self) -> None:
        """Raises ConflictError once its handler has ended."""
        if self.over:
            raise ConflictError("the run has ended: its handler did not wait for this")

    def __str__(self) -> str:
        job = f"pk={self.held.id}" if self.held.key is None else f"id={plain(self.held.key)}"
        return f"{self.held.queue} {job} attempt={self.held.attempt}"


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A handler's answer, made by its run: `return run.retry()`, `return run.snooze("5m")`, `return run.fail("…")`."""

    made_by: Control
    ending: Ending


current: ContextVar[Control | None] = ContextVar("tinystore_run", default=None)


def check_not_own_atomic(alias: str, queue: str, key: str) -> None:
    """Checks that a job to be cancelled is not the one whose `atomic=True` handler or step is asking, itself or by the
    handler of a run that it started.

    Raises:
        InvalidError: it is, and what the handler or step wrote would go with it.
    """
    run = current.get()
    while run is not None:
        if (run.atomic or run.in_step) and (run.alias, run.held.queue, run.held.key) == (alias, queue, key):
            by = "handler" if run.atomic else "step"
            raise InvalidError(f"cancel of {quoted(key)} by its own atomic {by}: return run.fail(...) instead")
        run = run.outer
