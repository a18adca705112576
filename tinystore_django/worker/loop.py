"""The worker's loop: what finished is settled and what is due is claimed, then it sleeps until there is more."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..control import Control
from ..databases import database
from ..databases.rows import Claimed, Fence, Held
from ..lifecycle.aftermath import LOST, Ending
from ..lifecycle.asking import Asked
from ..lifecycle.claiming import turn
from ..lifecycle.settling import Settling
from ..log import logger
from ..signals import job_settled
from . import announcing
from .connections import close_all
from .coroutines import Coroutines
from .endings import in_a_line
from .ends import Ends
from .execution import Ended, Task, broken, carry_out, new_task
from .hold import Hold, drop, let_go, refresh
from .leaving import leave
from .pace import TRY_AGAIN, Pace
from .part import Part
from .patience import Patience
from .pool import Pool
from .upkeep import FAREWELL


class Loop(Part):
    """One thread, one connection; the handlers have their own."""

    def __init__(self, hold: Hold, pace: Pace, patience: Patience) -> None:
        super().__init__("tinystore-loop")
        self.settled, self.ended = 0, threading.Event()
        self._hold = hold
        self._pace = pace
        self._patience = patience
        self._pool = Pool()
        self._coroutines = Coroutines()
        self._ends = Ends()
        self.wake = self._ends.wake
        self._unsettled: list[Ended] = []
        self._late: list[Held] = []  # claimed too late to be started
        self._running: Counter[str] = Counter()
        self._unsure = self._idle = self.gave_up = False
        self._doubtful: set[Fence] = set()  # runs whose settle may have been done without an answer
        self._stops_at: float | None = None

    def stop(self, grace: float) -> None:
        """Takes no more, and ends when the handlers have, or after `grace` seconds."""
        if self._stops_at is None and (running := self._running.total()):
            logger.info("stopping: waits up to %.0f s for %d run%s", grace, running, "s" * (running > 1))
        self._stops_at = time.monotonic() + grace
        self.wake.set()

    @property
    def is_overdue(self) -> bool:
        """Whether it was to have ended for a while: a statement of it gets no answer, as from a server that hangs."""
        return self._stops_at is not None and time.monotonic() > self._stops_at + 2 * FAREWELL

    def work(self) -> None:
        try:
            database(self._hold.alias).own_thread()
            self._go_round()
        finally:
            self._leave()

    def _leave(self) -> None:
        """Gives back what is still running. Should the database not answer, its jobs are free after the lease."""
        self._stops_at = time.monotonic()
        try:
            leave(self._hold.alias, self._patience, self._settle_rest, self._give_back, self._hold.return_all)
        finally:
            self._pool.stop()
            self._coroutines.stop()
            close_all()
            self.ended.set()

    def _go_round(self) -> None:
        while not self._over():
            pause = self._round()
            self._ends.gather()
            self._pool.spread()
            self._ends.sleep(pause)

    def _over(self) -> bool:
        if self.gave_up or (self._stops_at is not None and time.monotonic() >= self._stops_at):
            return True
        stopping = (
            self._stops_at is not None or self._pace.had_all(self.settled) or (self._idle and self._pace.until_idle)
        )
        return stopping and not self._busy()

    def _busy(self) -> bool:
        return bool(self._ends or self._unsettled or self._running.total())

    def _round(self) -> float:
        """Settles and claims, and says how many seconds to sleep if nothing wakes it."""
        try:
            refresh(self._hold.alias)
            pause = self._turn()
            if self._unsure or self._late:
                pause = 0.0
                self._give_back()
            elif self._hold.owes:  # the claims go on meanwhile
                self._hold.return_unknown()
                pause = min(pause, TRY_AGAIN)
            let_go(self._hold.alias)
            self._patience.well()
            self._doubtful.clear()
        except Exception as error:  # whatever it is, a worker that lives and claims nothing would be worse
            # Whether its commit took effect is unknown: a settle is tried again, what was claimed is given back.
            self._unsure = True
            self._doubtful.update(one.task.held.fence for one in self._unsettled)
            drop(self._hold.alias)
            pause = self._patience.lost(error)
            self.gave_up = self._patience.unanswered > self._pace.waits
        return pause

    def _turn(self) -> float:
        self._unsettled += self._ends.take()
        finished = [one.task.finished(one.ending) for one in self._unsettled if one.outcome is None]
        hold, ended = self._hold, [one.task.held for one in self._unsettled]
        asked = Asked(self._wanted(), hold.limits, ended, hold.floors, hold.counts)
        settling, claimed = turn(hold.alias, lease := hold.take(), finished, asked)
        self._note_settled(settling)
        started = hold.own(claimed.held) if claimed else []
        if claimed and len(started) < len(claimed.held):  # others may be due in the places of those
            claimed = replace(claimed, next_due=claimed.now, floored=True)
        # The claim may have waited for long, as for SQLite's lock, and what it was asked for not be so any more.
        if self._stops_at is None and hold.holds(lease):
            self._start(started)
        else:
            self._late += started
        if claimed is not None:
            self._idle = not (started or claimed.floored)
        if finished or started:
            hold.moved({one.queue for one in (*ended, *started)})
            self._rest()
        return self._pause(claimed, settling)

    def _settle_rest(self) -> None:
        self._turn()
        while self._ends:  # what ended meanwhile
            self._turn()

    def _give_back(self) -> None:
        """Gives back what was claimed and does not run, once all that has ended is settled."""
        if self._ends:
            return
        if self._unsure:
            self._hold.return_unknown()
        self._hold.give_back(self._late)
        self._late, self._unsure = [], False

    def _rest(self) -> None:
        if pause := database(self._hold.alias).rest():
            time.sleep(pause)

    def _wanted(self) -> dict[str, int]:
        if self._stops_at is not None or self._hold.lapsed or self._unsure or self._late:
            return {}
        free = {queue: slots - self._running[queue] for queue, slots in self._pace.slots.items()}
        for one in self._unsettled:
            free[one.task.held.queue] += 1
        return self._pace.bounded(free, self.settled + self._running.total())

    def _note_settled(self, settling: Settling) -> None:
        left = {finished.held.fence for finished in settling.left}
        ended = self._unsettled
        self._ends.judge(ended)
        self._unsettled = [one for one in ended if one.task.held.fence in left]
        settled = [one for one in ended if one.task.held.fence not in left]
        for one in settled:  # all places are free before anybody is told, which may raise
            self._running[one.task.held.queue] -= 1
            self._hold.runs.pop(one.task.held.fence, None)
        for one in settled:
            self._tell(one, one.outcome or settling.outcomes.get(one.task.held.fence))

    def _tell(self, one: Ended, outcome: str | None) -> None:
        if outcome is None:
            if one.task.held.fence in self._doubtful:
                logger.info("%s settled, or taken back, while the database did not answer", one.task.control)
            else:
                logger.warning("%s: its job is no longer this worker's, nothing was settled", one.task.control)
            return
        self.settled += outcome != "cancelled"
        self._hold.settled(one.task.held, one.ending, outcome)
        error = f": {in_a_line(one.ending)}" if outcome in ("retry", "failed") and one.ending.error else ""
        level = logging.WARNING if outcome == "failed" else logging.INFO
        logger.log(level, "%s %s %.0f ms%s", one.task.control, outcome, one.seconds * 1000, error)
        self._announce(one.task.held, outcome, one.ending)

    def note_lost(self, lost: Mapping[Held, str]) -> None:
        """Hears of jobs that were taken back: they are due, and their runs settled."""
        self.wake.set()
        for held, outcome in lost.items():
            self._hold.tally.ended(held, outcome)
            self._announce(held, outcome, Ending("lost", LOST))

    def _announce(self, held: Held, outcome: str, ending: Ending) -> None:
        # In a thread of the handlers': a receiver may take its time, and use the database.
        if job_settled.has_listeners(held.queue):
            try:
                self._pool.start([partial(announcing.settled_in_thread, held, outcome, ending)])
            except RuntimeError as error:  # of a worker without threads: what ran is settled all the same
                logger.error("%s: no receiver of job_settled is told", Control(self._hold.alias, held), exc_info=error)

    def _start(self, started: Sequence[Held]) -> None:
        if not started:
            return
        hold = self._hold
        hold.tally.started(started)
        self._ends.begin(len(started))
        tasks = [new_task(hold.alias, held, hold.declarations[held.queue], hold.on_progress) for held in started]
        for task in tasks:
            self._running[task.held.queue] += 1
            hold.runs[task.held.fence] = task.control
            if task.handler.is_async:
                self._begin([task], partial(self._coroutines.start, task, self._ends.note))
        if threaded := [task for task in tasks if not task.handler.is_async]:
            calls = [partial(carry_out, task, self._ends.note) for task in threaded]
            self._begin(threaded, partial(self._pool.start, calls, one_by_one=self._ends.instant))

    def _begin(self, tasks: Sequence[Task], start: Callable[[], object]) -> None:
        try:
            start()
        except Exception as error:  # no thread to be had, or no file for an event loop
            for task in tasks:
                self._ends.note(broken(task, error))

    def _pause(self, claimed: Claimed | None, settling: Settling) -> float:
        if self._over():  # by what this round settled: nothing may come to wake it
            return 0.0
        pauses = [self._pace.poll]
        if claimed is not None and claimed.next_due is not None:
            pauses.append(max(0.0, (claimed.next_due - claimed.now) / 1e6))
        if settling.left:
            pauses.append(TRY_AGAIN)
        if self._stops_at is not None:
            pauses.append(max(0.0, self._stops_at - time.monotonic()))
        return min(pauses)
