"""run_due: what is due runs here and now, in the calling thread and on its connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from asgiref.sync import sync_to_async
from django.db import Error, transaction

from .. import conf
from ..databases import database
from ..databases.rows import Held
from ..lifecycle import asides
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
from .worker import Worker, open_all


def run_due(declarations: Sequence[Declaration], concurrency: int | None = None) -> int:
    """Runs what is due, and what falls due meanwhile; how many runs were settled.

    With a concurrency above 1 it uses threads. Inside an open transaction it never does, for no other thread sees
    what is not committed; each handler then runs in a savepoint.
    """
    alias = declarations[0].alias
    if (concurrency or 1) > 1 and not database(alias).in_transaction():
        return _run_in_threads(declarations, concurrency)
    with database(alias).read_committed():
        open_all(declarations)
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
    store = database(hold.alias)
    lost: dict[Held, str] = {}
    with store.read_committed():
        hold.take()
        while some := hold.sweep():
            lost |= some
    for held, outcome in lost.items():
        hold.tally.ended(held, outcome)
        announcing.settled(held, outcome, LOST)
    patience = Patience(hold.alias)
    upkeep = Upkeep(hold, patience, lambda lost: None)
    hold.on_progress = upkeep.report
    if store.in_transaction():
        # Nobody else sees the lease, and no other connection could renew it, nor write progress.
        hold.on_progress = AtOnce(hold, patience).write
    else:
        upkeep.start()
    try:
        yield hold
    finally:
        with store.read_committed():
            try:
                hold.return_all()
            finally:
                upkeep.stop()
                hold.give_up()  # where no thread renewed it


class AtOnce:
    """Writes progress on the caller's own connection, inside whose transaction nobody else could."""

    def __init__(self, hold: Hold, patience: Patience) -> None:
        self._hold = hold
        self._patience = patience
        self._writing: set[asyncio.Future[None]] = set()  # a loop holds them only weakly

    def write(self) -> None:
        if not _in_event_loop():
            self._write()
            return
        # An async handler: its queries go through the calling thread, as soon as it waits for something.
        writing = asyncio.ensure_future(sync_to_async(self._write)())
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    def _write(self) -> None:
        try:
            self._hold.write_progress()
        except Error as error:  # it costs the handler nothing: a transaction it has broken, it finds out by itself
            self._patience.lost(error)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_one(hold: Hold, declaration: Declaration) -> int:
    """Runs the queue's first due job. One at a time: what is not running is waiting, and may be changed."""
    with database(hold.alias).read_committed():
        claimed = claim(hold.alias, hold.take(), {declaration.name: 1}, hold.limits, hold.floors)
    settled = sum(_run(hold, declaration, held) for held in claimed.held)
    asides.ended(hold.alias, claimed.held)
    return settled


def _run(hold: Hold, declaration: Declaration, held: Held) -> int:
    hold.tally.started([held])
    task = new_task(hold.alias, held, declaration, hold.on_progress)
    hold.runs[held.fence] = task.control
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
    with database(hold.alias).own_transaction():
        return settle_alone(hold.alias, ended.task.finished(ended.ending))
