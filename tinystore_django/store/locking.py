"""The row that an id names."""

from __future__ import annotations

from ..databases import database
from ..models import Job
from ..timing import clock

State = Job.State
NOT_STARTED = (State.READY, State.ASIDE)
ENDED = (State.FAILED, State.DONE)


def lock(alias: str, queue: str, key: str) -> Job | None:
    """The row that holds an id, which nobody else can change until the transaction ends; None if the id is free.

    To be called inside `database(alias).transaction()`.
    """
    rows = Job.objects.using(alias).select_for_update().filter(queue=queue, key=key, released=False)
    return rows.first()


def expired(row: Job, now: int) -> bool:
    """Whether the row of an ended job has passed the time its id was kept for."""
    return row.until is not None and clock.from_datetime(row.until) <= now


def release(alias: str, queue: str, key: str) -> bool:
    """Frees the id of a job that is past its keep; whether there was one. Its row is cleared by the workers."""
    now = database(alias).now_expression()
    rows = Job.objects.using(alias).filter(queue=queue, key=key, released=False, state__in=ENDED)
    return rows.filter(until__lte=now).update(released=True) > 0
