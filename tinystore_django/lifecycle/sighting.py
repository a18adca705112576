"""watch: a job as one watcher last saw it, and what there is to see since, for many watchers in few queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..databases import database
from ..jobs import Job, changed, kept_by
from ..models import Cancel
from ..models import Job as Row
from ..timing import clock
from ..values import Codec
from . import flaws
from .lines import ahead
from .locking import known
from .reading import find, shown, value

K = TypeVar("K")
ENDED = ("done", "failed", "cancelled")
# A job seen in one of these has begun a run since, if it is done.
NOT_STARTED = ("scheduled", "waiting")


@dataclass(frozen=True, slots=True)
class Sight:
    """A job as one watcher last saw it. Its row is what it goes by: the id may be another job's by now."""

    row: int
    codec: Codec[Any]
    job: Job[Any]
    most: int | None = None  # how many jobs of its group may run at once
    lost: bool = False  # it ended, and nobody knows any more how

    @property
    def over(self) -> bool:
        """Whether there is nothing more to see."""
        return self.lost or self.job.state in ENDED

    def differs(self, job: Job[Any]) -> bool:
        """Whether a job has changed in something that a watch reports."""
        return _told(self.job) != _told(job)

    def ended(self, state: str) -> Sight:
        """The last sight of a job that is gone."""
        attempt = self.job.attempt + (state == "done" and self.job.state in NOT_STARTED)
        error = None if state == "done" else self.job.error
        job = changed(self.job, state=state, ahead=0, attempt=attempt, progress=None, error=error)
        return replace(self, job=job)


@dataclass(frozen=True, slots=True)
class Look:
    """What is new, by watcher, and when the next of the jobs falls due, in seconds from the look."""

    news: dict[Any, Sight] = field(default_factory=dict)
    due_in: float | None = None


def first(alias: str, queue: str, key: str, codec: Codec[Any], most: int | None) -> Sight | None:
    """The job an id names, as `get` shows it, or None."""
    found = find(alias, queue, key, codec, most)
    return found and Sight(found[0], codec, found[1], most)


def look(alias: str, sights: Mapping[K, Sight], late: bool = False) -> Look:
    """Looks at all these jobs at once. `late`: the last look was longer ago than ends are remembered."""
    rows = _rows(alias, {one.row for one in sights.values()})
    limits = {known(rows[one.row].queue): one.most for one in sights.values() if one.row in rows}
    jobs = _stand(alias, [row for row in rows.values() if not row.cancelled], limits)
    gone = {one.row for one in sights.values()} - rows.keys()
    cancelled = {row.pk for row in rows.values() if row.cancelled} | _cancelled(alias, gone)
    news: dict[Any, Sight] = {}
    for watcher, sight in sights.items():
        if sight.row in cancelled:
            news[watcher] = sight.ended("cancelled")
        elif sight.row in gone:
            news[watcher] = replace(sight, lost=True) if late else sight.ended("done")
    different = {key: one for key, one in sights.items() if one.row in jobs and one.differs(jobs[one.row])}
    return Look(news | _in_full(alias, different, jobs), _due_in(rows.values()))


def _stand(alias: str, rows: Collection[Row], limits: Mapping[str, int | None]) -> dict[int, Job[Any]]:
    """The jobs of these rows, but for their values. One that left its line as we looked is left to the next look."""
    jobs = {row.pk: job for row, job in flaws.each(rows, _shown, flaws.named)}
    waiting = [row for row in rows if row.pk in jobs and jobs[row.pk].state == "waiting"]
    places: dict[int, int] = {}
    for queue, most in limits.items():
        places |= ahead(alias, queue, [row for row in waiting if row.queue == queue], most)
    for row in waiting:
        job = jobs.pop(row.pk)
        if row.pk in places:
            jobs[row.pk] = changed(job, ahead=places[row.pk])
    return jobs


def _shown(row: Row) -> Job[Any]:
    return shown(row, _now(row), None)


def _in_full(alias: str, different: Mapping[K, Sight], jobs: Mapping[int, Job[Any]]) -> dict[K, Sight]:
    """The jobs that changed with their values, which may be large and are read of no other."""
    rows = Row.objects.using(alias).only("value").in_bulk({one.row for one in different.values()})
    news = {}
    for watcher, sight in different.items():
        kept = value(rows[sight.row], sight.codec) if sight.row in rows else kept_by(sight.job)
        news[watcher] = replace(sight, job=changed(jobs[sight.row], value=kept))
    return news


def _rows(alias: str, ids: Collection[int]) -> dict[int, Row]:
    rows: Any = Row.objects.using(alias).annotate(now=database(alias).now_expression())
    return dict(rows.defer("value", "traceback").in_bulk(ids))


def _cancelled(alias: str, jobs: Collection[int]) -> set[int]:
    # Asked for after the rows: what took a row away noted the cancel in the same transaction.
    return set(Cancel.objects.using(alias).in_bulk(jobs))


def _due_in(rows: Iterable[Row]) -> float | None:
    left = (clock.from_datetime(known(row.at)) - _now(row) for row in rows)
    return min((us / 1e6 for us in left if us > 0), default=None)


def _now(row: Any) -> int:
    """The time of the query that read a row."""
    return int(row.now)


def _told(job: Job[Any]) -> tuple[Any, ...]:
    # As text: True and 1 are equal in Python, and not the same progress.
    return job.state, job.ahead, job.attempt, job.at, repr(job.progress), job.error
