"""A schedule's row: opened by whoever runs it, with the repeat its code says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError

from ..databases import database
from ..databases.repeating import NOTHING, opened
from ..databases.rows import NewJob
from ..errors import ConflictError
from ..models import Job, Queue
from ..timing import clock
from ..timing.repeats import Repeat, is_kept_as
from .adding import TRIES, insert, not_kept
from .changing import drop_steps
from .locking import NOT_STARTED, known, lock

LIVE = (*NOT_STARTED, Job.State.RUNNING)


def open_all(alias: str, repeats: Mapping[str, Repeat]) -> dict[str, Exception]:
    """Makes the rows of these schedules, or gives them the repeats of the code. Those that cannot be made, each with
    what is in the way: the others are open all the same."""
    unopened: dict[str, Exception] = {}
    if not repeats:
        return unopened
    # Unlocked: a transaction that holds a row for long must not hold up a worker's start.
    done = opened(alias, [(name, repeat.text) for name, repeat in repeats.items()])
    for name, repeat in repeats.items():
        if name in done:
            continue
        try:
            open_(alias, name, repeat)
        except (IntegrityError, ConflictError) as error:
            if database(alias).in_transaction():
                raise  # which it may have broken
            unopened[name] = error
    return unopened


def open_(alias: str, name: str, repeat: Repeat) -> None:
    """Makes the row of one of them.

    Raises:
        IntegrityError, ConflictError: something is in the way.
    """
    for _ in range(TRIES):
        if _open(alias, name, repeat):
            return
        # Another worker opened it between our look and our insert: maybe with another repeat.
    raise not_kept(name, name)


def _open(alias: str, name: str, repeat: Repeat) -> bool:
    store = database(alias)
    with store.own_transaction():
        row = lock(alias, name, name)
        if row is not None and row.value != NOTHING:  # a queue had the name: the job stays, without the schedule's id
            Job.objects.using(alias).filter(pk=row.pk).update(key=None)
            row = None
        elif row is not None and row.state not in LIVE:  # it is damaged
            Job.objects.using(alias).filter(pk=row.pk).update(released=True)
            row = None
        if row is None:
            Queue.objects.using(alias).filter(name=name, cancelled_at__isnull=False).update(cancelled_at=None)
            return insert(alias, NewJob(name, NOTHING, name, repeat.next(store.now()), repeat=repeat.text))
        if row.state == Job.State.ASIDE:  # a worker that knows a queue of its name has set it aside
            row.state = Job.State.READY
            row.save(using=alias, update_fields=["state"])
        if not opened(alias, [(name, repeat.text)]):
            _change(row, repeat, store.now())
    return True


def _change(row: Job, repeat: Repeat, now: int) -> None:
    """Takes the code's repeat: the next tick from now. While it runs, its settle finds the tick."""
    # Written otherwise, its time stands; where nothing is written otherwise, it is the time that is damaged.
    same = row.repeat != repeat.text and is_kept_as(repeat, row.repeat)
    row.repeat = repeat.text
    if row.state in NOT_STARTED and not same:
        row.at = row.due = clock.to_datetime(repeat.next(now))
        row.attempt = 0
        drop_steps(row)  # of the tick it leaves
    row.save(using=row._state.db, update_fields=["repeat", "at", "due", "attempt"])


def cancelled(alias: str) -> dict[str, datetime]:
    """The schedules that were cancelled and not opened again, and since when."""
    rows = Queue.objects.using(alias).filter(cancelled_at__isnull=False)
    return {known(name): known(at) for name, at in rows.values_list("name", "cancelled_at")}
