"""What a worker does beside running jobs: renews its lease, takes back lost jobs, clears what is past its keep."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from django.db import Error

from ..databases import database
from ..databases.rows import Held, Renewal
from ..databases.troubles import is_busy
from ..lifecycle.clearing import BATCH, clear, clear_progress
from .connections import close_all
from .hold import Hold, drop, let_go, refresh
from .part import Part
from .patience import Patience

# Seconds between two looks for cancelled jobs, while a run has been in progress for as long: told within a second.
LOOK = 0.35
# Seconds between two looks for jobs that were left aside, while something runs.
LOOK_ASIDE = 0.7
# Seconds between two writes of progress, and two words to those who watch.
REPORT = 0.1
# Seconds between two additions to the sums of a minute.
ADD_UP = 3.0
# Seconds that each of its statements waits for SQLite's lock, and seconds before it asks for it again.
SHARE, AGAIN = 0.15, 0.01
# Seconds that a stopping worker gives each of its threads to say its last to a database that may not answer.
FAREWELL = 3.0
# How often as long as a batch took to clear its lock is then left to others: SQLite has one for all who write.
REST = 3.0


class Upkeep(Part):
    """A thread with a connection of its own, so that no handler and no round keeps it from renewing."""

    def __init__(
        self, hold: Hold, patience: Patience, on_lost: Callable[[dict[Held, str]], object], at_once: bool = False
    ) -> None:
        super().__init__("tinystore-upkeep")
        self._hold = hold
        self._patience = patience
        self._on_lost = on_lost
        self._every = hold.span / 3e6
        # Of a worker that died before this one started, the first renewal tells when to look.
        self._renews_at = time.monotonic() + (0.0 if at_once else self._every)
        self._looks_aside_at = 0.0
        self._reports_at = 0.0
        self._adds_up_at = 0.0
        self._busy_since = math.inf
        self._stopping = False
        self._woken = threading.Event()

    def stop(self) -> None:
        self._stopping = True
        self.wake()
        if self.is_alive():
            self.join(FAREWELL)  # it may wait for a database that does not answer, or for SQLite's lock

    def wake(self) -> None:
        """Ends its sleep: it looks what there is to do, such as progress to write, or watchers to tell."""
        self._woken.set()

    def work(self) -> None:
        try:
            with database(self._hold.alias).read_committed():
                while not self._stopping:
                    self._woken.wait(self._tend())
                    self._woken.clear()
                self._leave()
        finally:
            close_all()

    def _leave(self) -> None:
        with suppress(Error):  # the lease runs out by itself, and the next worker's upkeep clears
            database(self._hold.alias).hasten()
            self._hold.give_up()
            if self._hold.reported:
                clear_progress(self._hold.alias)

    def _tend(self) -> float:
        """Does what is due, and says for how many seconds nothing is."""
        try:
            refresh(self._hold.alias)
            database(self._hold.alias).hasten(SHARE)
            # A look for cancelled jobs comes first, for it only reads: what follows may wait for SQLite's lock.
            if self._do_each(self._stop_cancelled, self._renew, self._look_aside, self._report, self._add_up):
                self._patience.well()
                self._busy_since = math.inf
            let_go(self._hold.alias)
        except Exception as error:  # a lease that nobody renews would cost every run
            return self._failed(error)
        to_say = self._hold.has_progress() or self._hold.moves.untold
        at = min(self._renews_at, self._reports_at if to_say else math.inf)
        return min(LOOK, max(0.0, at - time.monotonic()))

    def _failed(self, error: Exception) -> float:
        """Says for how many seconds to pause after an error."""
        if is_busy(error):  # it goes round, so that a cancel is told meanwhile
            self._busy_since = min(self._busy_since, time.monotonic())
            if time.monotonic() > self._busy_since + self._every:
                self._patience.lost(error)
            return AGAIN
        drop(self._hold.alias)
        pause = min(self._patience.lost(error), self._every)
        # What failed may have been a report alone: no pause outlasts the time to renew.
        before_renewal = self._renews_at - time.monotonic()
        return min(pause, before_renewal) if before_renewal > 0 else pause

    def _do_each(self, *chores: Callable[[], object]) -> bool:
        """Does each of these, whatever another one raises, while the database answers; whether all went well."""
        well = True
        for chore in chores:
            try:
                chore()
            except Error:
                raise
            except Exception as error:  # what nobody thought of, in a row or in the code
                self._patience.lost(error)
                well = False
        return well

    def _renew(self) -> None:
        if time.monotonic() < self._renews_at:
            return
        renewal = self._hold.renew()
        self._renews_at = time.monotonic() + self._every
        if renewal is None:
            return
        try:
            # One batch of either a renewal: a million rows to clear would else outlast the lease.
            self._do_each(partial(self._take_back, renewal), self._bring_back, partial(self._clear, renewal))
        except Error:
            self._renew_in(0.0)  # to try these again as soon as the database answers
            raise

    def _renew_in(self, seconds: float) -> None:
        self._renews_at = min(self._renews_at, time.monotonic() + seconds)

    def _take_back(self, renewal: Renewal) -> None:
        """Takes back a batch of lost jobs, or says when there may be some."""
        if renewal.orphans or (renewal.next_expiry is not None and renewal.next_expiry < renewal.now):
            if lost := self._hold.sweep():
                self._renew_in(0.0)  # there may be more
                self._on_lost(lost)
        elif renewal.next_expiry is not None:
            # A worker that is alive renews long before; of a dead one, this is the moment to look.
            self._renew_in((renewal.next_expiry - renewal.now) / 1e6 + 0.01)

    def _bring_back(self) -> None:
        if self._hold.tend():
            self._on_lost({})  # no run of anybody's, but jobs are due

    def _clear(self, renewal: Renewal) -> None:
        """Clears one batch. Before the next it leaves others some time."""
        if not renewal.clearable:
            return
        began = time.monotonic()
        if clear(self._hold.alias) >= BATCH:
            self._renew_in(REST * (time.monotonic() - began))

    def _stop_cancelled(self) -> None:
        if self._runs_long():
            self._hold.stop_cancelled()

    def _look_aside(self) -> None:
        if time.monotonic() < self._looks_aside_at:
            return
        if self._hold.look_aside():
            self._on_lost({})
        self._looks_aside_at = time.monotonic() + LOOK_ASIDE

    def _report(self) -> None:
        if time.monotonic() >= self._reports_at and self._hold.write_progress() | self._hold.moves.tell():
            self._reports_at = time.monotonic() + REPORT

    def _add_up(self) -> None:
        if time.monotonic() >= self._adds_up_at and self._hold.write_tally():
            self._adds_up_at = time.monotonic() + ADD_UP

    def _runs_long(self) -> bool:
        before = time.monotonic() - LOOK
        return any(control.began < before for control in tuple(self._hold.runs.values()))
