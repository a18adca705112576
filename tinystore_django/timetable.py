"""The schedules of a database as an operator looks at them: those with a row, and those of the code without one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

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
PAGE = 100


def known(alias: str, names: Collection[Name] = ()) -> dict[str, int | None]:
    """The schedules by name, with the primary keys of their jobs: None where no worker has opened one yet. Only those
    named, if any are."""
    asked = frozenset(names)
    unopened: dict[str, int | None] = {
        one.name: None
        for one in declared()
        if one.repeat and one.alias == alias and (not asked or Name(one.name) in asked)
    }
    return dict(sorted({**unopened, **repeating.rows_of_schedules(alias, asked)}.items()))


def schedules(alias: str, names: Collection[Name], now: int) -> Iterator[Repeating]:
    """The schedules by name, those that no worker has opened yet too, read in pages as they are asked for."""
    found = list(known(alias, names).items())
    for start in range(0, len(found), PAGE):
        yield from read_some(alias, dict(found[start : start + PAGE]), now)


def read_some(alias: str, some: Mapping[str, int | None], now: int) -> list[Repeating]:
    """Of what `known` gives, these."""
    found = {job.queue: job for job in repeating.read(alias, [row for row in some.values() if row is not None])}
    absent = [name for name, row in some.items() if row is None]
    since = cancelled(alias) if absent else {}
    for name in absent:
        if (one := find(alias, name)) and one.repeat:
            found[name] = _without_row(name, one.repeat, now, since.get(name))
    return [found[name] for name in some if name in found]


def _without_row(name: str, repeat: Repeat, now: int, since: datetime | None) -> Repeating:
    """A schedule of the code that was cancelled, at that time; or that no worker has started with yet, at the time that
    it would have."""
    state, at = (NOT_OPENED, clock.to_datetime(repeat.next(now))) if since is None else (CANCELLED, since)
    return Repeating(name, name, repeat.text, state, at, 0, None, None)


def is_of_queue(alias: str, name: str) -> bool:
    """Whether it is a declared queue's name, so that its jobs are no schedules, whatever their ids."""
    declaration = find(alias, name)
    return declaration is not None and declaration.repeat is None


def repeat_of(job: Repeating) -> Repeat | None:
    """Its repeat; None where that no longer reads."""
    try:
        return read(job.repeat)
    except CorruptError:
        return None


def took(run: LastRun) -> str:
    """How long a run took, to the millisecond."""
    milliseconds = max(run.ended_at - run.started_at, timedelta(0)) // (clock.MICROSECOND * UNITS["ms"])
    return in_words(milliseconds * UNITS["ms"])
