"""get: a job as its queue shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Count, QuerySet

from ..databases import database
from ..errors import CorruptError
from ..jobs import Job, LastRun, Unreadable
from ..models import Job as Row
from ..timing import clock
from ..values import Codec, read_json
from .locking import NOT_STARTED, State, expired, known

T = TypeVar("T")
MOST_AHEAD = 10_000


def get(alias: str, queue: str, key: str, codec: Codec[T], most: int | None = None) -> Job[T] | None:
    """The job an id names, or None. `most` is how many of a group's jobs may run at once."""
    rows = Row.objects.using(alias).filter(queue=queue, key=key, released=False)
    row = rows.annotate(now=database(alias).now_expression()).first()
    if row is None or expired(row, row.now):
        return None
    job = shown(row, row.now, codec)
    return job if job.state != "waiting" else shown(row, row.now, codec, ahead(row, row.now, most))


def shown(row: Row, now: int, codec: Codec[T], ahead: int = 0) -> Job[T]:
    """A row as a job, at an instant."""
    state = state_of(row, now)
    done = state == "done"
    return Job(
        id=row.key,
        kept=_value(row, codec),
        state=state,
        at=due_at(row),
        attempt=row.attempt,
        ahead=ahead,
        progress=read_json(row.progress) if row.progress and state == "running" else None,
        error=None if done else row.error,
        group=row.next_group or row.group,
        repeat=row.repeat,
        last_run=last_run(row),
    )


def state_of(row: Row, now: int) -> str:
    """scheduled, waiting, running, failed or done: the first two follow from the clock."""
    if row.state in (State.READY, State.ASIDE):
        return "scheduled" if clock.from_datetime(known(row.at)) > now else "waiting"
    return {State.RUNNING: "running", State.FAILED: "failed", State.DONE: "done"}[State(row.state)]


def ahead(row: Row, now: int, most: int | None = None) -> int:
    """How many due jobs of the queue start before this one, counted up to 10,000.

    A job whose group is full, with `most` of its jobs running, stands behind all that can start, and behind those of
    its own group before it.
    """
    rows = Row.objects.using(row._state.db).filter(queue=row.queue)
    ready = rows.filter(state=State.READY, at__lte=now)
    full = _full_groups(rows, most)
    if row.state == State.READY and row.group not in full:
        return min(
            MOST_AHEAD,
            _before(ready, row) - _before(ready.filter(group__in=full), row) if full else _before(ready, row),
        )
    can_start = _counted(ready) - (_counted(ready.filter(group__in=full)) if full else 0)
    of_group = rows.filter(group=row.group, at__lte=now)
    own = sum(_before(of_group.filter(state=state), row) for state in NOT_STARTED)
    return min(MOST_AHEAD, can_start + own)


def _full_groups(rows: QuerySet[Row], most: int | None) -> list[str | None]:
    if most is None:
        return []
    groups = rows.filter(state=State.RUNNING, group__isnull=False).values("group").annotate(running=Count("pk"))
    return [one["group"] for one in groups if one["running"] >= most]


def _before(rows: QuerySet[Row], row: Row) -> int:
    """How many of them stand before a job. Two ranges of the index: as one condition, all jobs of the same time would
    be looked at."""
    earlier = _counted(rows.filter(at__lt=row.at))
    return earlier + _counted(rows.filter(at=row.at, id__lt=row.pk))


def _counted(rows: QuerySet[Row]) -> int:
    # In order, so that the index is walked: how far a scan of the rows goes for so many depends on where they lie.
    return rows.order_by("-at", "-id").values("id")[:MOST_AHEAD].count()


def due_at(row: Row) -> datetime:
    """When a job may start; a running one's, when it was due."""
    # A running retry was due when its first attempt was; `at` is the retry's own time.
    return known(row.due if row.state == State.RUNNING else row.at)


def last_run(row: Row) -> LastRun | None:
    """A job's last settled run, if it had one."""
    if row.last_ended_at is None:
        return None
    return LastRun(known(row.last_started_at), row.last_ended_at)


def _value(row: Row, codec: Codec[Any]) -> Any:
    try:
        return codec.read(row.value)
    except CorruptError as error:
        return Unreadable(str(error))
