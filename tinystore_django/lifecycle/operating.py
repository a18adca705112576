"""What an operator does to a row, with or without an id: retry it, or take it away."""

from __future__ import annotations

from ..databases import database
from ..models import Job
from ..timing import clock
from . import notices
from .changing import start_afresh, take_away
from .locking import known, lock_row
from .placing import Placing
from .reading import state_of

GONE = "gone"


def retry(alias: str, job: int) -> str | None:
    """Starts a failed job again, its attempts from one, due now; `job` is its row's primary key.

    Gives None, or why it did not: the state the job is in, or "gone".
    """
    store = database(alias)
    with store.transaction():
        row = lock_row(alias, job)
        now = store.now()
        if row is None or (state := _state(row, now)) == GONE:
            return GONE
        if state != "failed":
            return state
        queue = known(row.queue)
        start_afresh(row, Placing(), now)
    notices.changed(alias, queue)
    return None


def cancel(alias: str, job: int) -> str | None:
    """Takes a job away, as `queue.cancel` does; `job` is its row's primary key.

    Gives None, or why it did not: "done", or "gone".
    """
    store = database(alias)
    with store.transaction():
        row = lock_row(alias, job)
        if row is None or (state := _state(row, store.now())) == GONE:
            return GONE
        if state == "done":
            return state
        take_away(row)
        queue = known(row.queue)
    notices.changed(alias, queue)
    return None


def _state(row: Job, now: int) -> str:
    # A done job's row may be kept for longer than its id.
    past = row.kept_until is not None and clock.from_datetime(row.kept_until) <= now
    return GONE if row.cancelled or past else state_of(row, now)
