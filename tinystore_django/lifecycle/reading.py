"""get: a job as its queue shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from ..databases import database
from ..errors import CorruptError
from ..jobs import Job, LastRun, Unreadable
from ..models import Job as Row
from ..timing import clock
from ..values import Codec, read_json
from .locking import State, expired, known

T = TypeVar("T")
MOST_AHEAD = 10_000


def get(alias: str, queue: str, key: str, codec: Codec[T]) -> Job[T] | None:
    """The job an id names, or None."""
    rows = Row.objects.using(alias).filter(queue=queue, key=key, released=False)
    row = rows.annotate(now=database(alias).now_expression()).first()
    if row is None or expired(row, row.now):
        return None
    job = shown(row, row.now, codec)
    return job if job.state != "waiting" else shown(row, row.now, codec, ahead(row, row.now))


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


def ahead(row: Row, now: int) -> int:
    """How many due jobs of the queue start before this one, counted up to 10,000."""
    before = Row.objects.using(row._state.db).filter(queue=row.queue, state=State.READY, at__lte=now)
    # In order, so that the index is walked: how far a scan of the rows goes for so many depends on where they lie.
    before = before.order_by("-at", "-id")
    # Two ranges of the index: as one condition, all jobs of the same time would be looked at.
    earlier = before.filter(at__lt=row.at).values("id")[:MOST_AHEAD].count()
    return earlier + before.filter(at=row.at, id__lt=row.pk).values("id")[: MOST_AHEAD - earlier].count()


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
