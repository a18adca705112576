"""One thread for all who watch jobs of a database in this process: it listens, and reads their jobs together."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .. import conf
from ..databases import database
from ..databases.listening import ANY, Listener
from ..lifecycle import notices
from ..lifecycle.remembering import REMEMBERED
from ..lifecycle.sighting import look
from ..worker.connections import close_all
from ..worker.hold import drop, let_go
from ..worker.patience import Patience
from ..worker.wake import LOOK_AGAIN
from .watchers import PACE, Watcher

# Seconds between two looks while notices are heard: for one that was lost.
SLOW = 1.0
# Seconds of listening between two thoughts of what else there is to do.
TURN = 0.05
# How often as long as a look took is the least from it to the next, however many watch.
SHARE = 4
# Seconds between two words to the workers that somebody watches; they believe it for `notices.WATCHED_FOR`.
SAY = 5.0
# Seconds before another listening connection is tried for.
LISTEN_AGAIN = 1.0
# Seconds it waits for a database that does not answer, at the longest.
LONGEST = 2.0


class Hub(threading.Thread):
    """It is there from the first watcher's coming to the last one's leaving, and its two connections with it."""

    def __init__(self, alias: str) -> None:
        super().__init__(name="tinystore-watching", daemon=True)
        self.watchers: set[Watcher] = set()
        self._alias = alias
        self._patience = Patience(alias, "the watching")
        self._wake = threading.Event()
        self._queues: set[str] = set()
        self._told_at = -SAY
        self._listener: Listener | None = None
        self._listens_at = 0.0  # of time.monotonic(); never, where there is nothing to listen to
        self._heard_at = time.monotonic()
        self._looked_at = time.monotonic() - SLOW
        self._saw_at = time.monotonic()  # the last look that the database answered
        self._pace = PACE
        self._due_at: float | None = None

    def hear(self, queue: str = ANY) -> None:
        """Has it look as soon as it may."""
        if queue == ANY or queue in self._queues:
            self._heard_at = time.monotonic()
            self._wake.set()

    def run(self) -> None:
        unsubscribe = notices.subscribe(self._alias, self.hear)
        try:
            while _goes_on(self, self._alias):
                self._turn()
        finally:
            unsubscribe()
            self._close_listener()
            close_all()

    def _turn(self) -> None:
        self._listen()
        try:
            if time.monotonic() >= self._looks_at():
                self._look()
                self._patience.well()
        except Exception as error:  # whatever it is: whoever watches would else wait for ever
            drop(self._alias)
            self._heard_at = time.monotonic() + min(self._patience.lost(error), LONGEST)
            self._wake.clear()
            self._wake.wait(self._heard_at - time.monotonic())

    def _listen(self) -> None:
        """Waits for a notice, or until it is time to look, but never long. Without a listener it looks more often."""
        seconds = min(TURN, max(0.0, self._looks_at() - time.monotonic()))
        try:
            if self._listener is None and time.monotonic() >= self._listens_at:
                self._listener = database(self._alias).listener(conf.notify(), moves=True)
                self._listens_at = math.inf if self._listener is None else 0.0
            for queue in self._listener.wait(seconds) if self._listener is not None else ():
                self.hear(queue)
        except Exception as error:  # the driver's own: this connection is not Django's
            self._patience.lost(error)
            self._close_listener()
            self._listens_at = time.monotonic() + LISTEN_AGAIN
            self.hear()
        if self._listener is None:
            self._wake.wait(seconds)
        self._wake.clear()

    def _looks_at(self) -> float:
        soonest = self._looked_at + self._pace
        # A notice speaks for what is done just after it, too.
        if self._looked_at < self._heard_at + LOOK_AGAIN:
            return soonest
        latest = self._looked_at + (SLOW if self._listener is not None else self._pace)
        return latest if self._due_at is None else min(latest, max(soonest, self._due_at))

    def _look(self) -> None:
        watchers = _still_there(self)
        self._say({one.queue for one in watchers})
        self._looked_at = time.monotonic()
        late = self._looked_at - self._saw_at > REMEMBERED / 1e6
        seen = look(self._alias, {one: one.latest for one in watchers}, late)
        self._saw_at = self._looked_at
        for watcher, sight in seen.news.items():
            watcher.show(sight)
        let_go(self._alias)
        self._due_at = None if seen.due_in is None else self._looked_at + seen.due_in
        self._pace = max(PACE, SHARE * (time.monotonic() - self._looked_at))

    def _say(self, queues: set[str]) -> None:
        """Tells the workers, so that they say what they do. Those that nobody watches say nothing."""
        if conf.notify() and queues and (queues - self._queues or time.monotonic() >= self._told_at + SAY):
            database(self._alias).tell_workers(sorted(queues))
            self._told_at = time.monotonic()
        self._queues = queues

    def _close_listener(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(Exception):  # it may be as broken as it can be, and is to be gone
                listener.close()


_lock = threading.Lock()
_hubs: dict[str, Hub] = {}


@contextmanager
def shown_to(alias: str, watcher: Watcher) -> Iterator[None]:
    """Has a watcher shown what there is to see. Its leaving waits for nothing."""
    with _lock:
        hub = _hubs.get(alias)
        if hub is None or not hub.is_alive():
            hub = _hubs[alias] = Hub(alias)
            hub.watchers.add(watcher)
            hub.start()
        hub.watchers.add(watcher)
    # It may have missed what happened since the watcher's own look.
    hub.hear()
    try:
        yield
    finally:
        with _lock:
            hub.watchers.discard(watcher)


def _goes_on(hub: Hub, alias: str) -> bool:
    with _lock:
        if not hub.watchers:
            _hubs.pop(alias)
        return bool(hub.watchers)


def _still_there(hub: Hub) -> list[Watcher]:
    with _lock:
        hub.watchers -= {one for one in hub.watchers if one.is_gone}
        return [one for one in hub.watchers if not one.latest.over]


def _forget() -> None:
    """In a child process, which has inherited no thread."""
    global _lock
    _lock = threading.Lock()
    _hubs.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget)
