"""The schedules of a database as an operator looks at them: those with a row, and those of the code without one."""

from __future__ import annotations

from collections.abc import Collection

from .errors import CorruptError
from .jobs import LastRun
from .lifecycle import repeating
from .lifecycle.repeating import Name, Repeating
from .registry import declared, find
from .timing import clock
from .timing.durations import UNITS, in_words
from .timing.repeats import Repeat, read

NOT_OPENED = "not opened"


def schedules(alias: str, names: Collection[Name], now: int) -> list[Repeating]:
    """The schedules by name, those that no worker has opened yet too; only those named, if any are."""
    found = {job.queue: job for job in repeating.schedules(alias, names)}
    for one in declared():
        if one.repeat and one.alias == alias and (not names or Name(one.name) in names):
            at = clock.to_datetime(one.repeat.next(now))
            new = Repeating(one.name, one.name, one.repeat.text, NOT_OPENED, at, 0, None, None)
            found.setdefault(one.name, new)
    return [found[name] for name in sorted(found)]


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
