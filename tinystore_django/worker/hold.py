"""What a worker holds: its lease, and the runs in progress under it."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from django.db import Error

from ..control import Control
from ..databases import database
from ..databases.rows import Fence, Held, Renewal
from ..lifecycle import asides, flaws, leasing, stepping
from ..lifecycle.aftermath import LOST, Ending
from ..lifecycle.counts import Counts
from ..lifecycle.floors import Floors
from ..lifecycle.refused import settle_all
from ..lifecycle.settling import Finished
from ..lifecycle.strangers import is_stranger, put_aside
from ..lifecycle.tallying import add_up
from ..log import logger
from ..options import QueueOptions
from ..registry import Declaration, find
from ..version import __version__
from .kept import is_pooled
from .moves import Moves
from .tally import Tally

# A queue's job under a schedule's name, or the reverse.
OF_ANOTHER = (
    "a row of another kind of that name is not run: give one of the two another name, or cancel it in the admin"
)

# Hears of a settled run: its job, how it ended, and the outcome.
OnSettled = Callable[[Held, Ending, str], object]


class Hold:
    """One lease at a time, shared by the threads of its worker."""

    def __init__(self, declarations: Iterable[Declaration], span: int, woken: str = "") -> None:
        self.declarations = {one.name: one for one in declarations}
        self.alias = next(iter(self.declarations.values())).alias
        self.options = {name: one.options for name, one in self.declarations.items()}
        self.limits = {name: options for name, options in self.options.items() if options.limited}
        self.grouped = {name: options for name, options in self.limits.items() if options.heads is not None}
        self._queues = {name: one.options for name, one in self.declarations.items() if not one.repeat}
        self.span = span
        self.woken = woken
        self.tally = Tally()
        self.lease: int | None = None
        self._lasts_until = 0.0  # of time.monotonic()
        self._taking = threading.Lock()
        self.openings: list[Callable[[], object]] = []  # what is to be done before anything runs
        self.reopen: Callable[[], bool] = lambda: False  # what of it could not be, and is tried again
        self.runs: dict[Fence, Control] = {}
        self.owes = False  # whether a row that goes back is held by another transaction, and is `running` meanwhile
        self.on_progress: Callable[[], object] = lambda: None
        self.on_settled: OnSettled = lambda held, ending, outcome: None
        self.reported = False  # whether any of its runs showed progress
        self.moves = Moves(self.alias)
        self.floors, self.counts = Floors(), Counts()

    def settled(self, held: Held, ending: Ending, outcome: str) -> None:
        """Takes in that a run was settled."""
        self.tally.ended(held, outcome)
        self.on_settled(held, ending, outcome)

    def own(self, claimed: list[Held]) -> list[Held]:
        """Those of some claimed jobs that are of our queues and schedules; others that only bear their names are put
        aside."""
        others = [one for one in claimed if is_stranger(one, self.declarations[one.queue].repeat is not None)]
        if not others:
            return claimed
        self.owes = bool(put_aside(self.alias, others).left) or self.owes
        for one in others:
            flaws.tell(f"{self.declarations[one.queue].kind} {one.queue}", OF_ANOTHER)
        return [one for one in claimed if one not in others]

    def moved(self, queues: Iterable[str]) -> None:
        """Has whoever watches jobs of these queues told soon."""
        for queue in queues:
            if self.moves.note(queue):
                self.on_progress()

    def take(self) -> int:
        """The lease, opened at the first call."""
        # Two threads that each opened one would claim under two, and renew only the last.
        with self._taking:
            if self.lease is None:
                self.open()
                self._lasts_until = time.monotonic() + self.span / 1e6
                name = f"{socket.gethostname()}:{os.getpid()}"
                about = {"version": __version__, "woken": self.woken}
                self.lease = leasing.take(self.alias, name, self.declarations, self.span, **about)
            return self.lease

    def open(self) -> None:
        """Does what is to be done before anything runs; once."""
        while self.openings:
            self.openings[0]()
            del self.openings[0]

    @property
    def lapsed(self) -> bool:
        """Whether the lease may have run out, as after a long stop of the process: another worker may have taken it
        away, and what was claimed under it now would be lost at once."""
        return self.lease is not None and time.monotonic() > self._lasts_until

    def holds(self, lease: int) -> bool:
        """Whether this lease is still ours, and has not run out."""
        return self.lease == lease and not self.lapsed

    def renew(self) -> Renewal | None:
        """Renews the lease. None if it was lost: then its runs are told to stop, and the next take opens another."""
        lease = self.take()
        asked_at = time.monotonic()
        renewal = leasing.renew(self.alias, lease, self.span)
        if renewal is None:
            self.lease = None
            logger.warning("the lease was lost: another worker may have taken this one's jobs back")
            for fence, control in tuple(self.runs.items()):
                if fence[2] == lease:
                    control.stop("lost")
        else:
            self._lasts_until = asked_at + self.span / 1e6
        return renewal

    def tend(self) -> bool:
        """Brings back jobs that were left aside; whether there were any."""
        return self._brought_back(self.reopen() | asides.tend(self.alias, self._queues))

    def look_aside(self) -> bool:
        """The same between two renewals, while something runs: an idle worker's claims look for themselves."""
        looks = bool(self.grouped and self.runs)
        return looks and self._brought_back(asides.look(self.alias, self.grouped))

    def _brought_back(self, any_: bool) -> bool:
        if any_:
            self.floors.forget()
        return any_

    def sweep(self) -> dict[Held, str]:
        """Takes back the jobs of lost workers; each with its outcome, "lost" or "failed"."""
        lost = leasing.sweep(self.alias, self.options_of)
        if lost:
            self.floors.forget()
            logger.warning("took back %d run%s of workers that were lost", len(lost), "s" * (len(lost) != 1))
        for held, outcome in lost.items():
            level = logging.WARNING if outcome == "failed" else logging.INFO
            logger.log(level, "%s %s: %s", Control(self.alias, held), outcome, LOST)
            self.moves.note(held.queue)
        return lost

    def stop_cancelled(self) -> None:
        """Tells the handlers of cancelled jobs."""
        runs = dict(self.runs)
        for fence in leasing.cancelled(self.alias, runs):
            runs[fence].stop("cancelled")

    def has_progress(self) -> bool:
        """Whether a run has reported progress that is not written yet."""
        return any(control.has_news for control in tuple(self.runs.values()))

    def write_progress(self) -> bool:
        """Writes what the runs last reported; whether there was any."""
        reported = [control for control in tuple(self.runs.values()) if control.has_news]
        for control in reported:
            progress = control.progress
            assert progress is not None
            stepping.report(self.alias, control.held.fence, progress)
            control.shown = progress
            self.moves.note(control.held.queue)
        self.reported = self.reported or bool(reported)
        return bool(reported)

    def write_tally(self) -> bool:
        """Adds what was counted to the sums of the minute; whether there was anything."""
        return self.tally.hand_over(partial(add_up, self.alias))

    def return_unknown(self) -> None:
        """Gives back what a broken connection claimed for us without saying so."""
        if self.lease is not None:
            unknown = leasing.unknown(self.alias, self.lease, self.runs)
            self.owes = False
            self.give_back(unknown)

    def return_all(self) -> None:
        """Gives back the runs in progress, their attempts not counted."""
        for control in self.runs.values():
            control.stop("lost")
        self.give_back([control.held for control in self.runs.values()])
        self.write_tally()

    def give_up(self) -> None:
        """Ends the lease. For the thread that renews it: another's end would look to that one like a lease lost."""
        if self.lease is not None:
            leasing.give_up(self.alias, self.lease)
            self.lease = None

    def options_of(self, queue: str) -> QueueOptions | None:
        """What this process knows of a queue, whether it runs it or not; a lost job may be of any."""
        declaration = self.declarations.get(queue) or find(self.alias, queue)
        return declaration.options if declaration else None

    def give_back(self, jobs: list[Held]) -> None:
        """Gives back claimed jobs, their attempts not counted."""
        if not jobs:
            return
        back = [Finished(held, Ending("given back"), self.options_of(held.queue), True, True) for held in jobs]
        settling = settle_all(self.alias, back)
        outcomes, self.owes = settling.outcomes, bool(settling.left) or self.owes
        asides.ended(self.alias, jobs)
        self.floors.forget()
        for held in jobs:
            if held.fence in outcomes:
                logger.info("%s %s", Control(self.alias, held), outcomes[held.fence])


def refresh(alias: str) -> None:
    """Closes this thread's connection if it died while it was idle: the next query opens another, unnoticed."""
    store = database(alias)
    if store.connection.connection is not None and not store.is_alive():
        drop(alias)


def let_go(alias: str) -> None:
    """Between two rounds: a connection of Django's own pool is a handler's meanwhile, and DEBUG's log is emptied."""
    connection = database(alias).connection
    connection.queries_log.clear()
    if is_pooled(connection):
        connection.close()


def drop(alias: str) -> None:
    """Closes this thread's connection, however broken it is."""
    connection = database(alias).connection
    with suppress(Error):
        if is_pooled(connection) and connection.connection is not None:
            connection.connection.close()  # or its pool would hand on what went wrong with it, such as a plan
        connection.close()
