"""What a handler is given, and what it may answer; and the worker's side of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from .databases.rows import Held
from .errors import ConflictError, RunStopped
from .store.aftermath import Ending
from .timing import clock
from .timing.durations import duration
from .timing.moments import instant
from .values import error_text

Why = Literal["timeout", "cancelled", "lost"]


@dataclass(slots=True, eq=False)
class Control:
    """The worker's side of a run: it stops it, and sees which answers were made."""

    alias: str
    held: Held
    is_async: bool = False
    atomic: bool = False
    why: Why | None = None
    answers: list[Outcome] = field(default_factory=list)
    kept_steps: bool = False
    on_stop: Callable[[], object] | None = None
    began: float = field(default_factory=time.monotonic)

    def stop(self, why: Why) -> None:
        """Tells the handler to end: an async one is cancelled, a sync one finds out at its next step."""
        if self.why is None:
            self.why = why
            if self.on_stop is not None:
                self.on_stop()

    def check_going(self) -> None:
        """Raises what a stopped run's next step raises."""
        if self.why == "lost":
            raise ConflictError("the run's lease was lost: another worker may run the job already")
        if self.why is not None:
            raise RunStopped("the job was cancelled" if self.why == "cancelled" else "the run passed its timeout")

    def __str__(self) -> str:
        key = "" if self.held.key is None else f" id={self.held.key}"
        return f"{self.held.queue}{key} attempt={self.held.attempt}"


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A handler's answer, made by its run: `return run.retry()`, `return run.snooze("5m")`, `return run.fail("…")`."""

    made_by: Control
    ending: Ending


class Run:
    """One run of a job.

    Attributes:
        id: the job's id, None if it was added without one.
        at: when the run was due, aware; retries and snoozes leave it.
        attempt: 1 for the first; snoozes are not counted.
        group: the job's group, or None.
    """

    __slots__ = ("_control", "at", "attempt", "group", "id")

    def __init__(self, control: Control) -> None:
        held = control.held
        self._control = control
        self.id = held.key
        self.at: datetime = clock.to_datetime(held.at)
        self.attempt = held.attempt
        self.group = held.group

    @property
    def stopped(self) -> bool:
        """Whether it should end: past its timeout, cancelled, or no longer its worker's."""
        return self._control.why is not None

    def retry(self, when: str | timedelta | datetime | None = None) -> Outcome:
        """To be returned: run again after the backoff, or at this time, or after this span; counted as an attempt.

        Raises:
            InvalidError: the time or span cannot be one.
        """
        at, delay = (None, None) if when is None else _when(when)
        return self._answer(Ending("retry", "its handler asked for a retry", at=at, delay=delay))

    def snooze(self, when: str | timedelta | datetime) -> Outcome:
        """To be returned: run again at this time or after this span; not counted as an attempt.

        Raises:
            InvalidError: the time or span cannot be one.
        """
        at, delay = _when(when)
        return self._answer(Ending("snoozed", at=at, delay=delay))

    def fail(self, reason: object) -> Outcome:
        """To be returned: failed for good, whatever attempts are left. The reason may be an exception."""
        return self._answer(Ending("failed", error_text(reason)))

    def _answer(self, ending: Ending) -> Outcome:
        answer = Outcome(self._control, ending)
        self._control.answers.append(answer)
        return answer


current: ContextVar[Control | None] = ContextVar("tinystore_run", default=None)


def is_own_atomic(alias: str, queue: str, key: str) -> bool:
    """Whether a job is the one whose `atomic=True` handler is asking."""
    run = current.get()
    return run is not None and run.atomic and (run.alias, run.held.queue, run.held.key) == (alias, queue, key)


def _when(when: str | timedelta | datetime) -> tuple[int | None, int | None]:
    """A time, or a span; either is brought into the years that can be written when the run has ended."""
    if isinstance(when, datetime):
        return instant(when, "when"), None
    return None, duration(when, "when")
