"""The schedules of a database as an operator looks at them: those with a row, and those of the code without one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from .errors import CorruptError
from .jobs import LastRun
from .lifecycle import repeating
from .lifecycle.repeating import Name, Repeating
from .lifecycle.scheduling import cancelled
from .registry import declared, find
from .timing import clock
from .timing.durations import UNITS, in_words
from .timing.repeats import Repeat, read

NOT_OPENED = "not opened"
CANCELLED = "cancelled"


def schedules(alias: str, names: Collection[Name], now: int) -> list[Repeating]:
    """The schedules by name, those that no worker has opened yet too; only those named, if any are."""
    found = {job.queue: job for job in repeating.schedules(alias, names)}
    asked = [one for one in declared() if one.alias == alias and (not names or Name(one.name) in names)]
    absent = {one.name: one.repeat for one in asked if one.repeat and one.name not in found}
    since = cancelled(alias) if absent else {}
    found |= {name: _without_row(name, repeat, now, since.get(name)) for name, repeat in absent.items()}
    return [found[name] for name in sorted(found)]


def _without_row(name: str, repeat: Repeat, now: int, since: datetime | None) -> Repeating:
    """A schedule of the code that was cancelled, at that time; or that no worker has started with yet, at the time that
    it would have."""
    state, at = (NOT_OPENED, clock.to_datetime(repeat.next(now))) if since is None else (CANCELLED, since)
    return Repeating(name, name, repeat.text, state, at, 0, None, None)


def is_of_queue(job: Repeating, alias: str) -> bool:
    """Whether it is a job of a declared queue, whatever its id."""
    declaration = find(alias, job.queue)
    return declaration is not None and declaration.repeat is None


def repeat_of(job: Repeating) -> Repeat | None:
    """Its repeat; None where that no longer reads."""
    try:
        return read(job.repeat)
    except CorruptError:
        return None


def took(run: LastRun) -> str:
    """How long a run took, to the millisecond."""
    milliseconds = (run.ended_at - run.started_at) // (clock.MICROSECOND * UNITS["ms"])
    return in_words(milliseconds * UNITS["ms"])
