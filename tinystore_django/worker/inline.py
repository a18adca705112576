"""run_due: what is due runs here and now, in the calling thread and on its connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from typing import NamedTuple

from django.db import Error, transaction

from .. import conf
from ..databases import database
from ..databases.base import Database
from ..databases.rows import Held
from ..lifecycle import asides
from ..lifecycle.aftermath import LOST, Ending
from ..lifecycle.claiming import claim
from ..lifecycle.refused import settle_alone
from ..log import logger
from ..registry import Declaration
from . import announcing
from .alone import Alone
from .connections import in_transaction, looked_after
from .execution import Ended, Task, new_task, perform
from .hold import Hold
from .interrupt import Interrupt
from .opening import Opening
from .patience import Patience
from .upkeep import Upkeep
from .worker import Worker


class Ran(NamedTuple):
    """What a call of `run_here` did."""

    settled: int
    started: bool  # whether anything ran: a run whose job was taken back or cancelled settles nothing


def run_due(declarations: Sequence[Declaration], concurrency: int | None = None, raises: bool = False) -> int:
    """Runs what is due, and what falls due meanwhile; how many runs were settled.

    With a concurrency above 1 it uses threads. Where no other thread sees what this one does, inside an open
    transaction or on a database in memory, it never does. With `raises` the first exception of a handler ends it,
    once that run is settled, and is raised.
    """
    if (concurrency or 1) > 1 and not database(declarations[0].alias).is_alone():
        return _run_in_threads(declarations, concurrency, raises)
    return run_here(declarations, raises).settled


def run_here(declarations: Sequence[Declaration], raises: bool = False) -> Ran:
    """The same in the calling thread. Inside an open transaction each handler runs in a savepoint."""
    with database(declarations[0].alias).read_committed():
        Opening(declarations).open_or_fail()
    with Interrupt() as interrupt, _holding(declarations) as (hold, alone):
        here = _Here(hold, alone, interrupt, _Failure(raises))
        started = False
        while sum(here.run_one(one) for one in declarations):
            started = True
        return Ran(here.settled, started)


def _run_in_threads(declarations: Sequence[Declaration], concurrency: int | None, raises: bool) -> int:
    failure = _Failure(raises)
    worker = Worker(declarations, concurrency=concurrency, until_idle=True, on_settled=failure.note)
    failure.then = worker.ask_to_stop  # what it has started ends as well
    try:
        worker.start().wait()
    except BaseException:  # Ctrl-C: its threads would go on
        worker.stop(grace=0.0)
        raise
    failure.check()
    return worker.settled


class _Failure:
    """The first exception out of a handler, where the caller is to be given it."""

    def __init__(self, raises: bool) -> None:
        self.then: Callable[[], object] = lambda: None
        self._raises = raises
        self._error: BaseException | None = None

    def note(self, held: Held, ending: Ending, outcome: str) -> None:
        """Hears of a settled run."""
        if self._raises and self._error is None and ending.raised and outcome != "cancelled":
            self._error = ending.exception
            if self._error is not None:
                self.then()

    def check(self) -> None:
        """Raises it."""
        if self._error is not None:
            raise self._error


@contextmanager
def _holding(declarations: Sequence[Declaration]) -> Iterator[tuple[Hold, Alone | None]]:
    hold = Hold(declarations, conf.lease())
    store = database(hold.alias)
    lost: dict[Held, str] = {}
    with store.read_committed():
        hold.take()
        while some := hold.sweep():
            lost |= some
    for held, outcome in lost.items():
        hold.tally.ended(held, outcome)
        announcing.settled(held, outcome, Ending("lost", LOST))
    patience = Patience(hold.alias)
    upkeep = Upkeep(hold, patience, lambda lost: None)
    alone = None
    if store.is_alone():
        # Nobody else sees the lease, and no other connection could renew it, nor write progress.
        alone = Alone(hold, patience)
        hold.on_progress = alone.write_progress
    else:
        hold.on_progress = upkeep.wake
        upkeep.start()
    try:
        with _giving_back(hold, store):
            yield hold, alone
    finally:
        with store.read_committed():
            upkeep.stop()
            hold.give_up()  # where no thread renewed it


@contextmanager
def _giving_back(hold: Hold, store: Database) -> Iterator[None]:
    try:
        yield
    except BaseException:
        try:
            with store.read_committed():
                hold.return_unknown()  # of a claim that Ctrl-C has cut off
                hold.return_all()
        except Error:  # what ended the block is what its caller has to hear of
            logger.exception("the jobs of a run_due that was ended were not given back: they are lost to it")
        raise
    with store.read_committed():
        hold.return_all()


class _Here:
    """Runs jobs in this thread, one at a time: what is not running is waiting, and may be changed."""

    def __init__(self, hold: Hold, alone: Alone | None, interrupt: Interrupt, failure: _Failure) -> None:
        self.settled = 0
        self._failure = failure
        hold.on_settled = failure.note
        self._hold = hold
        self._alone = alone
        self._interrupt = interrupt

    def run_one(self, declaration: Declaration) -> bool:
        """Runs the queue's first due job; whether there may be another."""
        hold = self._hold
        with database(hold.alias).read_committed():
            claimed = claim(hold.alias, hold.take(), {declaration.name: 1}, hold.limits, hold.floors)
            own = hold.own(claimed.held)
        for held in own:
            self._run(declaration, held)
        asides.ended(hold.alias, own)
        self._failure.check()
        # Jobs may be due in a limited queue whose row somebody else holds.
        return bool(claimed.held or claimed.floored)

    def _run(self, declaration: Declaration, held: Held) -> None:
        hold = self._hold
        hold.tally.started([held])
        task = new_task(hold.alias, held, declaration, hold.on_progress)
        with _in_progress(hold, task):
            ended = self._perform(task)
            if ended.ending.raised:
                self._interrupt.check()  # by what ended the handler: its job is given back
            outcome = ended.outcome or self._settle(ended)
        self._tell(ended, outcome)
        self._interrupt.check()

    def _tell(self, ended: Ended, outcome: str | None) -> None:
        if outcome is None:
            return
        held = ended.task.held
        self.settled += outcome != "cancelled"
        self._hold.settled(held, ended.ending, outcome)
        announcing.settled(held, outcome, ended.ending)

    def _perform(self, task: Task) -> Ended:
        if not database(self._hold.alias).in_transaction():
            with looked_after(in_transaction()):
                return self._call(task)
        began = time.monotonic()
        try:
            with transaction.atomic(using=self._hold.alias):
                ended = self._call(task)
                if ended.ending.raised and not _is_cancelled(task):
                    raise _RolledBack(ended)
        except _RolledBack as rolled_back:
            return rolled_back.ended
        except Error as error:  # the savepoint's end: the handler had caught an error that broke it
            return Ended(task, task.raised(error), time.monotonic() - began)
        return ended

    def _call(self, task: Task) -> Ended:
        # In a context of its own, as in a worker; the caller's stays as it is.
        return Context().run(perform if self._alone is None else self._alone.perform, task)

    def _settle(self, ended: Ended) -> str | None:
        with database(self._hold.alias).own_transaction():
            return settle_alone(self._hold.alias, ended.task.finished(ended.ending))


@contextmanager
def _in_progress(hold: Hold, task: Task) -> Iterator[None]:
    """A run that its hold knows of: after Ctrl-C, too, so that its job is given back."""
    fence = task.held.fence
    hold.runs[fence] = task.control
    try:
        yield
    except Exception:
        del hold.runs[fence]
        raise
    del hold.runs[fence]


def _is_cancelled(task: Task) -> bool:
    """Whether a run's job is, by its own handler: a cancel that was rolled back with it would have it run again."""
    return task.control.asks is not None and task.control.asks()


class _RolledBack(Exception):
    def __init__(self, ended: Ended) -> None:
        self.ended = ended
