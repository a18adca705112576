"""set, update and cancel: what each does to the job an id names, by its state."""

from __future__ import annotations

from ..databases import database
from ..databases.rows import NewJob
from ..models import Job, Step
from ..options import QueueOptions
from . import notices
from .adding import TRIES, check_room, in_turn, insert, new_job, not_kept
from .asides import bring_back
from .clearing import remember_cancels
from .locking import NOT_STARTED, State, expired, known, lock
from .placing import Placing

# What a job that begins anew has of its own: its lease and the number of its run are its workers' to say.
AFRESH = (
    *("value", "repeat", "state", "attempt", "at", "due", "group", "error", "traceback"),
    *("ended_at", "until", "kept_until", "last_started_at", "last_ended_at"),
)


def set_(alias: str, queue: str, key: str, value: str, placing: Placing, options: QueueOptions) -> None:
    """Makes an id's job this one: adds it, replaces it, or gives a running one one run more.

    Raises:
        LimitError: it would add a job to the `max_waiting` that have not started.
        ConflictError: a row that this connection is not shown has the id, or the database does not keep the row.
    """
    with in_turn(alias, queue, options.max_waiting):
        for _ in range(TRIES):
            if _set(alias, queue, key, value, placing, options):
                return
            # Another call added the id between our look and our insert: its job is the one to replace.
    raise not_kept(queue, key)


def _set(alias: str, queue: str, key: str, value: str, placing: Placing, options: QueueOptions) -> bool:
    store = database(alias)
    with store.own_transaction():
        row = lock(alias, queue, key)
        now = store.now()
        if row is None or row.state == State.DONE or expired(row, now):
            check_room(alias, queue, options.max_waiting)
            return _add_afresh(alias, row, new_job(alias, queue, key, value, placing, options.heads))
        row.value = value
        row.repeat = placing.repeat_text or row.repeat
        if row.state == State.RUNNING:
            _run_once_more(row, placing, now)
        else:
            start_afresh(row, placing, now)
    notices.changed(alias, queue)
    return True


def _add_afresh(alias: str, row: Job | None, new: NewJob) -> bool:
    if row is not None:
        Job.objects.using(alias).filter(pk=row.pk).update(released=True)
    if not insert(alias, new):
        return False
    notices.added(alias, new.queue, new.key)
    return True


def _run_once_more(row: Job, placing: Placing, now: int) -> None:
    row.next_group = placing.group or row.next_group or row.group
    row.next_at = placing.given(now)
    row.save(using=row._state.db, update_fields=["value", "repeat", "next_at", "next_group"])


def start_afresh(row: Job, placing: Placing, now: int) -> None:
    """Makes a locked job that does not run one that never ran, due at the time given, else now."""
    if row.state == State.FAILED:
        row.last_started_at = row.last_ended_at = None
    group = _brings_back(row)
    row.state, row.attempt = State.READY, 0
    row.at = row.due = placing.time(now)
    row.group = placing.group or row.group
    row.error = row.traceback = row.ended_at = row.until = row.kept_until = None
    row.save(using=row._state.db, update_fields=AFRESH)
    drop_steps(row)
    bring_back(str(row._state.db), known(row.queue), group)


def update(alias: str, queue: str, key: str, value: str, placing: Placing) -> bool:
    """Changes a job that has not started, and says whether it did. What it does not say stays."""
    store = database(alias)
    with store.own_transaction():
        row = lock(alias, queue, key)
        if row is None or row.state not in NOT_STARTED:
            return False
        group = _brings_back(row) if placing.timed or placing.group else {}
        row.value = value
        row.due = row.at = placing.time(store.now()) if placing.timed else row.at
        row.group = placing.group or row.group
        row.repeat = placing.repeat_text or row.repeat
        row.state = State.READY if placing.timed or placing.group else row.state
        row.save(using=row._state.db, update_fields=["value", "at", "due", "group", "repeat", "state"])
        bring_back(alias, queue, group)
    notices.changed(alias, queue)
    return True


def cancel(alias: str, queue: str, key: str) -> bool:
    """Takes a job away, and says whether there was one. A running one is told to stop, and counts until it has."""
    store = database(alias)
    with store.own_transaction():
        row = lock(alias, queue, key)
        if row is None or row.state == State.DONE or expired(row, store.now()):
            return False
        take_away(row)
    notices.changed(alias, queue)
    return True


def take_away(row: Job) -> None:
    """Removes a locked job; a running one's row stays until its handler, told to stop, has ended."""
    remember_cancels(str(row._state.db), [row])
    if row.state == State.RUNNING:
        row.cancelled = row.released = True
        row.save(using=row._state.db, update_fields=["cancelled", "released"])
    else:
        group = _brings_back(row)
        drop_steps(row)
        row.delete(using=row._state.db)
        bring_back(str(row._state.db), known(row.queue), group)


def _brings_back(row: Job) -> dict[str, int]:
    """The group whose jobs set aside wait behind this one, before it is moved or taken away."""
    return {row.group: 1} if row.group is not None and row.state == State.READY else {}


def drop_steps(row: Job) -> None:
    """Drops the answers of a locked job's steps: its next run is a fresh one."""
    if row.run:
        Step.objects.using(row._state.db).filter(job=row.pk).delete()
