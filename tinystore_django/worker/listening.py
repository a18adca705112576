"""Hears what other processes add, and wakes the loop."""

from __future__ import annotations

import threading
from collections.abc import Collection

from .. import conf
from ..databases import database
from ..databases.listening import ANY, WATCHED, Listener
from .connections import close_all
from .moves import Moves
from .part import Part
from .patience import Patience
from .wake import Wake


class Listening(Part):
    """One listener at a time; a lost one is replaced, and the loop looks for what was added meanwhile."""

    TURN = 0.2  # seconds of listening between two looks at whether to stop

    def __init__(self, alias: str, queues: Collection[str], wake: Wake, patience: Patience, moves: Moves) -> None:
        super().__init__("tinystore-listening")
        self._alias = alias
        self._queues = queues
        self._wake = wake
        self._patience = patience
        self._moves = moves
        self._stopping = False
        self._woken = threading.Event()
        self._listener: Listener | None = None

    @property
    def hears(self) -> bool:
        """Whether what this process adds will be heard here, too."""
        return self._listener is not None

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    def wake(self) -> None:
        """Ends its pause."""
        self._woken.set()

    def work(self) -> None:
        try:
            while not self._stopping and self._listen():
                pass
        finally:
            close_all()

    def _listen(self) -> bool:
        """Listens until it is to stop or hears nothing any more; whether there is anything to listen to."""
        try:
            self._listener = database(self._alias).listener(conf.notify())
            if self._listener is None:
                return False
            self._wake.set()
            self._patience.well()
            while not self._stopping:
                self._hear(self._listener.wait(self.TURN), self._listener.gathers)
        except Exception as error:  # the driver's own errors: this connection is not Django's
            listener, self._listener = self._listener, None
            _close(listener)
            self._woken.wait(self._patience.lost(error))
            self._woken.clear()
        else:
            _close(self._listener)
        return True

    def _hear(self, queues: set[str], gathers: bool) -> None:
        if ANY in queues or not queues.isdisjoint(self._queues):
            self._wake.notice() if gathers else self._wake.set()
        for queue in self._queues:  # of others' names there may be any number: NOTIFY needs no right
            if WATCHED + queue in queues:
                self._moves.watched(queue)


def _close(listener: Listener | None) -> None:
    if listener is not None:
        listener.close()
