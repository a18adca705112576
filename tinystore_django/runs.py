"""What a handler is given, and what it may answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from . import steps
from .control import Control, Outcome
from .handled import handled_in, link
from .lifecycle.aftermath import Ending, Kind
from .timing import clock
from .timing.durations import duration
from .timing.moments import capped, instant
from .withholding import error_text, traceback_text

__all__ = ["Outcome", "Run"]


class Run:
    """One run of a job.

    Attributes:
        id: the job's id, None if it was added without one.
        job: the job's primary key: of each job another, with or without an id.
        queue: the name of its queue or schedule.
        at: when the run was due, aware; retries and snoozes leave it.
        attempt: 1 for the first; snoozes are not counted.
        group: the job's group, or None.
    """

    __slots__ = ("_control", "at", "attempt", "group", "id", "job", "queue")

    def __init__(self, control: Control) -> None:
        held = control.held
        self._control = control
        self.id = held.key
        self.job = held.id
        self.queue = held.queue
        self.at: datetime = clock.to_datetime(held.at)
        self.attempt = held.attempt
        self.group = held.group

    @property
    def stopped(self) -> bool:
        """Whether it should end: past its timeout, cancelled, or no longer its worker's."""
        return self._control.stopped() is not None

    def step(self, name: str, fn: Callable[[], Any], *, of: Any = Any, atomic: bool = False) -> Any:
        """Runs a function once in the job's life and keeps its answer; later attempts are given what was kept.

        The first call gives the same: what the kept JSON reads as. In an async handler it is awaited:
        `await run.step("render", fn)`, with a function that is sync or async.

        Args:
            name: 1 to 256 bytes, unique in the job.
            fn: called without arguments; if it raises, nothing is kept.
            of: the type its answer reads as; what JSON itself has unless given.
            atomic: the rows that fn writes and the kept answer commit together.

        Raises:
            InvalidError: the name or the answer cannot be kept.
            LimitError: the answer is over 1 MiB of JSON.
            RunStopped: the run has passed its timeout, or its job was cancelled.
            ConflictError: the job is no longer this run's; nothing was kept.
        """
        steps.check_callable(fn)
        once = steps.step(self._control, name, of, atomic)
        return once.arun(fn) if self._control.is_async else once.run(fn)

    def set_progress(self, progress: Any) -> None:
        """Shows how far the run is: any JSON up to 4 KiB. The latest is written, ten a second at most.

        Raises:
            InvalidError: it cannot be written as JSON, or is longer.
            RunStopped, ConflictError: as `step` does.
        """
        steps.report(self._control, progress)

    def retry(self, when: str | timedelta | datetime | None = None) -> Outcome:
        """To be returned: run again after the backoff, or at this time, or after this span; counted as an attempt.

        In an `except` block the exception that is being handled is kept as the attempt's error.

        Raises:
            InvalidError: the time or span cannot be one.
        """
        at, delay = (None, None) if when is None else _when(when)
        handled = handled_in(self._control)
        text = "its handler asked for a retry" if handled is None else error_text(handled)
        return self._answer(replace(_of("retry", text, handled), at=at, delay=delay))

    def snooze(self, when: str | timedelta | datetime) -> Outcome:
        """To be returned: run again at this time or after this span; not counted as an attempt.

        Raises:
            InvalidError: the time or span cannot be one.
        """
        at, delay = _when(when)
        return self._answer(Ending("snoozed", at=at, delay=delay))

    def fail(self, reason: object) -> Outcome:
        """To be returned: failed for good, whatever attempts are left. The reason may be an exception; in an
        `except` block the traceback of the one that is being handled is kept with any other reason."""
        handled = handled_in(self._control)
        error = reason if isinstance(reason, BaseException) else handled
        if error is not None and handled is not None:
            link(error, handled)
        return self._answer(_of("failed", error_text(reason), error))

    def _answer(self, ending: Ending) -> Outcome:
        answer = Outcome(self._control, ending)
        self._control.answers.append(answer)
        return answer


def _of(kind: Kind, text: str, error: BaseException | None) -> Ending:
    return Ending(kind, text, None if error is None else traceback_text(error), exception=error)


def _when(when: str | timedelta | datetime) -> tuple[int | None, int | None]:
    """A time, or a span; either is brought into the years that can be written when the run has ended."""
    if isinstance(when, datetime):
        return instant(when, "when") if timezone.is_naive(when) else capped(clock.from_datetime(when)), None
    return None, duration(when, "when")
