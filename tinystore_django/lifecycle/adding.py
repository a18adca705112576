"""add: a job unless its id is taken."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.db import IntegrityError, transaction

from ..databases import database
from ..databases.rows import NewJob
from ..errors import ConflictError, LimitError
from ..models import Job
from . import notices
from .locking import State, release
from .placing import Placing

# By alias and queue: the threads of this process that add to it where it is bounded.
_turns: dict[tuple[str, str], threading.Lock] = {}
# Seconds that one of them waits for those before it.
TURN = 1.0
# How often a call looks again at what was in its way, before it says that nothing to be seen is.
TRIES = 20

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_turns.clear)


def add(alias: str, new: NewJob) -> bool:
    """Adds a job, and says whether it did: False when its id is taken.

    Raises:
        LimitError: the queue holds `max_waiting` jobs that have not started.
        ConflictError: the database takes the row and does not keep it.
    """
    with in_turn(alias, new.queue, new.max_waiting):
        added = _add(alias, new)
    if added:
        notices.added(alias, new.queue, new.key)
    return added


def _add(alias: str, new: NewJob) -> bool:
    for _ in range(TRIES):
        if database(alias).insert(new):
            return True
        if new.key is not None and _taken(alias, new.queue, new.key):
            return False
        check_room(alias, new.queue, new.max_waiting)
        # There is room by now, or the id is that of a job past its keep, or was free again before we looked.
        if new.key is not None:
            release(alias, new.queue, new.key)
    return _add_unseen(alias, new)


def _add_unseen(alias: str, new: NewJob) -> bool:
    """Adds a job of which no look said why it was not added: False where a row has its id that this connection is not
    shown, as under row level security."""
    try:
        with transaction.atomic(using=alias):
            if database(alias).insert(replace(new, max_waiting=None), unless_taken=False):
                return True
    except IntegrityError:  # of another conflict each of the tries before would have raised
        return False
    raise not_kept(new.queue, new.key)


def not_kept(queue: str, key: str | None) -> ConflictError:
    """The error of a row that the database did not take, though nothing that it shows is in the way."""
    job = "a job" if key is None else f"job {key!r}"
    return ConflictError(
        f"{job} of queue {queue!r} was not added, and no row that can be seen is in its way: "
        f"look for a trigger or a row level security policy of tinystore_django_job"
    )


@contextmanager
def in_turn(alias: str, queue: str, max_waiting: int | None) -> Iterator[None]:
    """Has this process add to a bounded queue one call at a time, so that each counts those before it.

    Not in a transaction, whose rows no other thread can count before its end. One that waits for such a transaction, as
    it has the same id, does not hold up the others for long.
    """
    if max_waiting is None or database(alias).in_transaction():
        yield
        return
    lock = _turns.setdefault((alias, queue), threading.Lock())
    in_time = lock.acquire(timeout=TURN)
    try:
        yield
    finally:
        if in_time:
            lock.release()


def check_room(alias: str, queue: str, max_waiting: int | None, more: int = 1) -> None:
    """Checks that so many more jobs may wait.

    Adders lock nothing shared for it: those of several processes may together add a few too many.

    Raises:
        LimitError: the queue is full.
    """
    if max_waiting is not None and _full(alias, queue, max_waiting + 1 - more):
        raise LimitError(f"queue {queue!r} holds {max_waiting} jobs that have not started, its max_waiting")


def insert(alias: str, new: NewJob) -> bool:
    """Inserts the row, in the place of one past its keep if need be."""
    if database(alias).insert(new):
        return True
    return new.key is not None and release(alias, new.queue, new.key) and database(alias).insert(new)


def new_job(
    alias: str,
    queue: str,
    key: str | None,
    value: str,
    placing: Placing,
    heads: int | None = None,
    max_waiting: int | None = None,
) -> NewJob:
    """The row of a job: its time is left to the database's clock unless a repeat needs it here."""
    at = placing.at
    if at is None and placing.delay is None and placing.repeat is not None:
        at = placing.repeat.next(database(alias).now())
    return NewJob(queue, value, key, at, placing.delay or 0, placing.group, placing.repeat_text, heads, max_waiting)


def _full(alias: str, queue: str, most: int) -> bool:
    # One state at a time and in its index's order, so that it is walked; the two together have none.
    orders = {State.READY: ("at", "id"), State.ASIDE: ("group", "at", "id")}
    rows = [Job.objects.using(alias).filter(queue=queue, state=one).order_by(*order) for one, order in orders.items()]
    return sum(some.values("id")[:most].count() for some in rows) >= most


def _taken(alias: str, queue: str, key: str) -> bool:
    now = database(alias).now_expression()
    rows = Job.objects.using(alias).filter(queue=queue, key=key, released=False)
    return rows.exclude(until__lte=now).exists()
