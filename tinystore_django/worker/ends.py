"""The runs that have ended and that the loop has not seen yet, and its sleep until there are some."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence

from .execution import Ended
from .wake import Wake

# Seconds within which a handler is quick, and for which a round waits for quick ones.
QUICK, GATHER = 0.001, 0.0003
# Seconds within which it has ended before another thread would be awake.
INSTANT = 0.0001


class Ends:
    """Taken by the loop's thread, noted by the handlers'."""

    def __init__(self) -> None:
        self.wake = Wake()
        self._ended: deque[Ended] = deque()
        self._out = 0  # runs begun whose end was not taken
        self._quick = False
        self.instant = False  # whether the next runs are expected to be
        self._all_in = threading.Event()

    def __bool__(self) -> bool:
        return bool(self._ended)

    def begin(self, count: int) -> None:
        """Counts runs that are about to start."""
        self._out += count

    def note(self, ended: Ended) -> None:
        """Takes in a run that has ended."""
        self._ended.append(ended)
        if not self._quick:
            self.wake.set()
        elif len(self._ended) >= self._out:
            self._all_in.set()

    def take(self) -> list[Ended]:
        """Those that have ended since the last call."""
        taken = []
        while self._ended:
            taken.append(self._ended.popleft())
        self._out -= len(taken)
        return taken

    def judge(self, ended: Sequence[Ended]) -> None:
        """Tells by the last runs whether the next will be quick."""
        slowest = max([one.seconds for one in ended], default=math.inf)
        self._quick, self.instant = slowest < QUICK, slowest < INSTANT

    def sleep(self, seconds: float) -> None:
        """Sleeps until a run has ended or the loop is woken, at most so long."""
        if not self._ended:
            self.wake.wait(seconds)

    def gather(self) -> None:
        """Leaves quick handlers the moment they need to end together: a round that starts with the first of them
        finds the others at work, and so does the next, for ever, each half empty."""
        moving = self._quick and len(self._ended) < self._out
        while moving:
            self._all_in.clear()
            before = len(self._ended)
            moving = before < self._out and (self._all_in.wait(GATHER) or len(self._ended) > before)
        self._quick = False  # from here on each end wakes the loop
