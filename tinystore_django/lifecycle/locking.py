"""The row that an id names."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import QuerySet

from ..databases import database
from ..models import Job
from ..timing import clock

T = TypeVar("T")

State = Job.State
NOT_STARTED = (State.READY, State.ASIDE)
ENDED = (State.FAILED, State.DONE)


def known(value: T | None) -> T:
    """A column that no row in this state leaves empty."""
    assert value is not None
    return value


def lock(alias: str, queue: str, key: str) -> Job | None:
    """The row that holds an id, which nobody else can change until the transaction ends; None if the id is free.

    To be called inside `database(alias).own_transaction()`.
    """
    rows = Job.objects.using(alias).select_for_update().filter(queue=queue, key=key, released=False)
    return only(rows)


def only(rows: QuerySet[Job]) -> Job | None:
    """The one row that an id can name; None if there is none."""
    # Not `first`: it asks for an order, and where the statistics say that the table is empty, PostgreSQL walks all
    # of it in that order.
    return next(iter(rows), None)


def lock_row(alias: str, job: int) -> Job | None:
    """The row of a primary key, locked in the same way; None if it is gone."""
    return Job.objects.using(alias).select_for_update().filter(pk=job).first()


def expired(row: Job, now: int) -> bool:
    """Whether the row of an ended job has passed the time its id was kept for."""
    return row.until is not None and clock.from_datetime(row.until) <= now


def release(alias: str, queue: str, key: str) -> bool:
    """Frees the id of a job that is past its keep; whether there was one. Its row is cleared by the workers."""
    now = database(alias).now_expression()
    # No word of the state: its index leads through every failed job of the queue.
    rows = Job.objects.using(alias).filter(queue=queue, key=key, released=False, until__lte=now)
    with database(alias).own_transaction():
        return rows.update(released=True) > 0
