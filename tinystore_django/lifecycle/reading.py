"""get: a job as its queue shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from ..databases import database
from ..errors import CorruptError
from ..jobs import Job, LastRun, Unreadable
from ..models import Job as Row
from ..timing import clock
from ..values import Codec, read_loosely
from . import flaws
from .lines import ahead
from .locking import NOT_STARTED, State, expired, known, only

T = TypeVar("T")


def get(alias: str, queue: str, key: str, codec: Codec[T], most: int | None = None) -> Job[T] | None:
    """The job an id names, or None. `most` is how many of a group's jobs may run at once."""
    found = find(alias, queue, key, codec, most)
    return found and found[1]


def find(alias: str, queue: str, key: str, codec: Codec[T], most: int | None = None) -> tuple[int, Job[T]] | None:
    """The job an id names, and its row's primary key; or None."""
    rows = Row.objects.using(alias).filter(queue=queue, key=key, released=False)
    row: Any = only(rows.annotate(now=database(alias).now_expression()))
    if row is None or expired(row, row.now):
        return None
    places = ahead(alias, queue, [row], most) if state_of(row, row.now) == "waiting" else {}
    return row.pk, shown(row, row.now, codec, places.get(row.pk, 0))


def shown(row: Row, now: int, codec: Codec[Any] | None, ahead: int = 0) -> Job[Any]:
    """A row as a job, at an instant; without a codec, without its value."""
    state = state_of(row, now)
    done = state == "done"
    if why := flaws.flaw_of(row):
        row.error = flaws.tell(flaws.named(row), why)
    return Job(
        id=row.key,
        value=None if codec is None else value(row, codec),
        state=state,
        at=due_at(row),
        attempt=row.attempt,
        ahead=ahead,
        progress=read_loosely(row.progress) if row.progress and state == "running" else None,
        error=None if done else row.error,
        group=row.next_group or row.group,
        repeat=row.repeat,
        last_run=last_run(row),
    )


def state_of(row: Row, now: int) -> str:
    """scheduled, waiting, running, failed or done: the first two follow from the clock. Failed is also what nothing
    runs since its row is damaged."""
    if row.state in NOT_STARTED:
        return "scheduled" if clock.from_datetime(known(row.at)) > now else "waiting"
    return "running" if row.state == State.RUNNING else "done" if row.state == State.DONE else "failed"


def due_at(row: Row) -> datetime:
    """When a job may start; a running one's, when it was due."""
    # A running retry was due when its first attempt was; `at` is the retry's own time.
    return known(row.due if row.state == State.RUNNING else row.at)


def last_run(row: Row) -> LastRun | None:
    """A job's last settled run, if it had one."""
    if row.last_ended_at is None or row.last_started_at is None:
        return None
    return LastRun(row.last_started_at, row.last_ended_at)


def value(row: Row, codec: Codec[Any]) -> Any:
    """What a job's row keeps as its value, or why it no longer reads."""
    try:
        return codec.read(row.value)
    except CorruptError as error:
        return Unreadable(str(error))
