"""For a project's tests: a clock they move, what is due run at once, and assertions on what was added.

All of it works inside TestCase's transaction. In pytest, the fixtures `tinystore_clock` and `tinystore_run_due` are
there without an import.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from . import jobs
from .errors import brief
from .lifecycle.listing import Wanted, every
from .queues import Queue
from .registry import Declaration, declared
from .timing import clock as process_clock
from .timing.durations import Span, duration
from .timing.moments import instant, later
from .worker import inline

# Stands for an argument that was not given, and is not compared; None is a value like another.
NOT_GIVEN: Final[Any] = type("NotGiven", (), {"__repr__": lambda self: "anything"})()


class Clock:
    """The time, for every part of the app in this process. It stands still between moves."""

    @property
    def now(self) -> datetime:
        """The time it shows, aware, in UTC."""
        return process_clock.to_datetime(process_clock.now())

    def advance(self, span: Span) -> None:
        """Moves it on by a span, such as "1h" or a timedelta.

        Raises:
            InvalidError: the span cannot be one.
        """
        process_clock.set_frozen(later(process_clock.now(), duration(span, "span"), "span"))

    def set(self, at: datetime) -> None:
        """Moves it to a time, back too.

        Raises:
            InvalidError: the time is naive where USE_TZ is True.
        """
        process_clock.set_frozen(instant(at, "at"))


@contextmanager
def clock(start: datetime | None = None) -> Iterator[Clock]:
    """Sets the time to `start`, an aware datetime, or to now; inside the block it moves only as it is told."""
    before = process_clock.frozen()
    process_clock.set_frozen(process_clock.now() if start is None else instant(start, "start"))
    try:
        yield Clock()
    finally:
        process_clock.set_frozen(before)


def run_due(*, raises: bool = False) -> int:
    """Runs what is due in every declared queue and schedule that has a handler; how many runs were settled.

    Args:
        raises: the first exception of a handler is raised, once its run is settled; what was not started stays due.
    """
    by_alias: dict[str, list[Declaration]] = {}
    for declaration in declared():
        if declaration.handler is not None:
            by_alias.setdefault(declaration.alias, []).append(declaration)
    settled, goes_on = 0, True
    while goes_on:  # a handler may add to a queue of another database, so until a whole pass finds nothing
        ran = [inline.run_here(some, raises) for some in by_alias.values()]
        settled += sum(one.settled for one in ran)
        goes_on = any(one.started for one in ran)
    return settled


def assert_added(
    queue: Queue[Any],
    value: Any = NOT_GIVEN,
    *,
    id: str | None = NOT_GIVEN,
    at: datetime = NOT_GIVEN,
    count: int = 1,
) -> None:
    """Asserts that the queue holds exactly `count` jobs like this. What is not given is not compared.

    Raises:
        AssertionError: it does not; the message lists what it holds.
    """
    found = [job for job in _held(queue) if _is_like(job, value, id, at)]
    if len(found) != count:
        wanted = _wanted(value, id, at)
        raise AssertionError(
            f"{count} of {wanted} expected in queue {queue.name!r}, {len(found)} found; {_listed(queue)}"
        )


def assert_not_added(
    queue: Queue[Any], value: Any = NOT_GIVEN, *, id: str | None = NOT_GIVEN, at: datetime = NOT_GIVEN
) -> None:
    """Asserts that the queue holds no job like this. What is not given is not compared.

    Raises:
        AssertionError: it does; the message lists what it holds.
    """
    assert_added(queue, value, id=id, at=at, count=0)


def _is_like(job: jobs.Job[Any], value: Any, id: Any, at: Any) -> bool:
    return (
        (value is NOT_GIVEN or jobs.kept_by(job) == value)
        and (id is NOT_GIVEN or job.id == id)
        and (at is NOT_GIVEN or process_clock.from_datetime(job.at) == instant(at, "at"))
    )


def _held(queue: Queue[Any]) -> list[jobs.Job[Any]]:
    declaration = queue._declaration
    return list(every(Wanted(declaration.alias, declaration.name), declaration.codec))


def _wanted(value: Any, id: Any, at: Any) -> str:
    given = {"value": value, "id": id, "at": at}
    return f"job({', '.join(f'{name}={brief(repr(what))}' for name, what in given.items() if what is not NOT_GIVEN)})"


def _listed(queue: Queue[Any]) -> str:
    held = _held(queue)
    lines = [
        f"  id={job.id!r} value={brief(repr(jobs.kept_by(job)))} at={job.at.isoformat()} {job.state}" for job in held
    ]
    return "\n".join(["it holds:", *lines]) if held else "it holds nothing"
