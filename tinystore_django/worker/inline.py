"""run_due: what is due runs here and now, in the calling thread and on its connection."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import Error, transaction

from .. import conf
from ..databases import database
from ..databases.rows import Held
from ..lifecycle import scheduling
from ..lifecycle.aftermath import LOST
from ..lifecycle.claiming import claim
from ..lifecycle.settling import settle_alone
from ..registry import Declaration
from . import announcing
from .connections import in_transaction, looked_after
from .execution import Ended, Task, new_task, perform
from .hold import Hold
from .patience import Patience
from .upkeep import Upkeep
from .worker import Worker


def run_due(declarations: Sequence[Declaration], concurrency: int | None = None) -> int:
    """Runs what is due, and what falls due meanwhile; how many runs were settled.

    With a concurrency above 1 it uses threads. Inside an open transaction it never does, for no other thread sees
    what is not committed; each handler then runs in a savepoint.
    """
    alias = declarations[0].alias
    if (concurrency or 1) > 1 and not database(alias).in_transaction():
        return _run_in_threads(declarations, concurrency)
    scheduling.open_all(alias, {one.name: one.repeat for one in declarations if one.repeat})
    with _holding(declarations) as hold:
        settled = 0
        while ran := sum(_run_one(hold, one) for one in declarations):
            settled += ran
    return settled


def _run_in_threads(declarations: Sequence[Declaration], concurrency: int | None) -> int:
    worker = Worker(declarations, concurrency=concurrency, until_idle=True).start()
    worker.wait()
    return worker.settled


@contextmanager
def _holding(declarations: Sequence[Declaration]) -> Iterator[Hold]:
    hold = Hold(declarations, conf.lease())
    hold.take()
    for held, outcome in hold.sweep().items():
        hold.tally.ended(held, outcome)
        announcing.settled(held, outcome, LOST)
    upkeep = Upkeep(hold, Patience(hold.alias), lambda lost: None)
    hold.on_progress = upkeep.report
    if database(hold.alias).in_transaction():
        # Nobody else sees the lease, and no other connection could renew it, nor write progress.
        hold.on_progress = hold.write_progress
    else:
        upkeep.start()
    try:
        yield hold
    finally:
        upkeep.stop()
        hold.return_all()


def _run_one(hold: Hold, declaration: Declaration) -> int:
    """Runs the queue's first due job. One at a time: what is not running is waiting, and may be changed."""
    claimed = claim(hold.alias, hold.take(), {declaration.name: 1})
    return sum(_run(hold, declaration, held) for held in claimed.held)


def _run(hold: Hold, declaration: Declaration, held: Held) -> int:
    hold.tally.started(held)
    task = new_task(held, declaration)
    hold.runs[held.fence] = task.control
    task.control.on_progress = hold.on_progress
    try:
        ended = _perform(hold, task)
        outcome = ended.outcome or _settle(hold, ended)
    finally:
        del hold.runs[held.fence]
    if outcome is None:
        return 0
    hold.tally.ended(held, outcome)
    announcing.settled(held, outcome, ended.ending.error)
    return 1


def _perform(hold: Hold, task: Task) -> Ended:
    if not database(hold.alias).in_transaction():
        with looked_after(in_transaction()):
            return perform(task)
    began = time.monotonic()
    try:
        with transaction.atomic(using=hold.alias):
            ended = perform(task)
            if ended.ending.raised:
                raise _RolledBack(ended)
    except _RolledBack as rolled_back:
        return rolled_back.ended
    except Error as error:  # the savepoint's end: the handler had caught an error that broke it
        return Ended(task, task.raised(error), time.monotonic() - began)
    return ended


class _RolledBack(Exception):
    def __init__(self, ended: Ended) -> None:
        self.ended = ended


def _settle(hold: Hold, ended: Ended) -> str | None:
    with database(hold.alias).transaction():
        return settle_alone(hold.alias, ended.task.finished(ended.ending))
