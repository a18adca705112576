"""What a worker does beside running jobs: renews its lease, takes back lost jobs, clears what is past its keep."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.db import Error

from ..store.clearing import BATCH, clear
from .connections import close_all
from .hold import Hold, drop, refresh
from .patience import Patience

# Seconds between two looks for cancelled jobs, while a run has been in progress for as long.
LOOK = 0.5


class Upkeep(threading.Thread):
    """A thread with a connection of its own, so that no handler and no round keeps it from renewing."""

    def __init__(self, hold: Hold, patience: Patience, on_returned: Callable[[], object]) -> None:
        super().__init__(name="tinystore-upkeep", daemon=True)
        self._hold = hold
        self._patience = patience
        self._on_returned = on_returned
        self._every = hold.span / 3e6
        self._renews_at = time.monotonic() + self._every
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        try:
            pause = 0.0
            while not self._stopping.wait(pause):
                pause = self._tend()
        finally:
            close_all()

    def _tend(self) -> float:
        """Does what is due, and says for how many seconds nothing is."""
        try:
            refresh(self._hold.alias)
            if time.monotonic() >= self._renews_at:
                self._renew()
            if self._runs_long():
                self._hold.stop_cancelled()
            self._patience.well()
        except Error as error:
            drop(self._hold.alias)
            return min(self._patience.lost(error), self._every)
        return min(LOOK, max(0.0, self._renews_at - time.monotonic()))

    def _renew(self) -> None:
        renewal = self._hold.renew()
        pause = self._every
        if renewal is not None:
            if renewal.orphans or (renewal.next_expiry is not None and renewal.next_expiry < renewal.now):
                self._sweep()
            elif renewal.next_expiry is not None:
                # A worker that is alive renews long before; of a dead one, this is the moment to look.
                pause = min(pause, (renewal.next_expiry - renewal.now) / 1e6 + 0.01)
            if renewal.clearable:
                self._clear()
        self._renews_at = time.monotonic() + pause

    def _sweep(self) -> None:
        if self._hold.sweep():
            self._on_returned()

    def _clear(self) -> None:
        while clear(self._hold.alias) == BATCH and not self._stopping.is_set():
            pass

    def _runs_long(self) -> bool:
        before = time.monotonic() - LOOK
        return any(control.began < before for control in tuple(self._hold.runs.values()))
