"""The jobs that repeat, as an operator looks at them: schedules first, then those of queues by their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, QuerySet

from ..databases import database
from ..databases.names import queues
from ..databases.repeating import by_id, named
from ..jobs import LastRun
from ..models import Job
from ..values import is_text
from . import flaws, notices
from .changing import take_away
from .locking import known, lock
from .reading import due_at, last_run, state_of

PAGE = 500
# Never the value, which may be large.
COLUMNS = ("queue", "key", "repeat", "state", "at", "due", "attempt", "error", "last_started_at", "last_ended_at")


@dataclass(frozen=True, slots=True)
class Name:
    """What an operator calls repeating jobs by: a queue or schedule, and the id of one job unless all are meant."""

    queue: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Repeating:
    """A repeating job as it was when it was read; its repeat is the text that its row keeps."""

    queue: str
    key: str
    repeat: str
    state: str
    at: datetime
    attempt: int
    error: str | None
    last_run: LastRun | None

    @property
    def is_schedule(self) -> bool:
        """Whether it bears its queue's name, as the one job of a schedule does."""
        return self.key == self.queue


def rows_of_schedules(alias: str, names: Collection[Name] = ()) -> dict[str, int]:
    """The primary keys of the schedules' jobs, by name; only of those named, if any are."""
    asked = {name.queue for name in names if name.key in (None, name.queue)} if names else queues(alias)
    # What no database can keep is nobody's name, and PostgreSQL refuses to look for it.
    return named(alias, sorted(filter(is_text, asked)))


def read(alias: str, rows: Collection[int]) -> list[Repeating]:
    """The repeating jobs of these primary keys that are still there."""
    return _shown(alias, _rows(alias).filter(pk__in=rows))


def others(alias: str, names: Collection[Name] = ()) -> Iterator[Repeating]:
    """The repeating jobs of queues, read in pages as they are asked for: there may be a million."""
    rows = _rows(alias).filter(_among(alias, names)).exclude(key=F("queue")).order_by("queue", "key")
    page = _shown(alias, rows[:PAGE])
    while page:
        yield from page
        last = page[-1]
        behind = Q(queue__gt=last.queue) | Q(queue=last.queue, key__gt=last.key)
        page = _shown(alias, rows.filter(behind, queue__gte=last.queue)[:PAGE])


def cancel(alias: str, queue: str, key: str) -> bool:
    """Cancels a repeating job, whether or not code still declares its queue; False if there is none."""
    with database(alias).own_transaction():
        row = lock(alias, queue, key)
        if row is None or row.repeat is None:
            return False
        take_away(row)
    notices.changed(alias, queue)
    return True


def _among(alias: str, names: Collection[Name]) -> Q:
    """Those named; all where none is."""
    if not names:
        return Q()
    jobs = by_id(alias, [(name.queue, name.key) for name in names if name.key is not None])
    # Lists, whose indexes PostgreSQL goes by in an `or`: so many names as somebody types.
    return Q(pk__in=jobs) | Q(queue__in=[name.queue for name in names if name.key is None])


def _rows(alias: str) -> QuerySet[Job]:
    now = database(alias).now_expression()
    kept = Q(until__isnull=True) | Q(until__gt=F("now"))
    rows = Job.objects.using(alias).annotate(now=now).filter(kept)
    return rows.filter(repeat__isnull=False, key__isnull=False, released=False).only(*COLUMNS)


def _shown(alias: str, rows: QuerySet[Job]) -> list[Repeating]:
    now = database(alias).now()
    return [job for _, job in flaws.each(rows, lambda row: _of(row, now), flaws.named)]


def _of(row: Job, now: int) -> Repeating:
    names = known(row.queue), known(row.key), known(row.repeat)
    return Repeating(*names, state_of(row, now), due_at(row), row.attempt, row.error, last_run(row))
