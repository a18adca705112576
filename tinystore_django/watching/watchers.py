"""How one watcher waits for the next report: in a thread, in a coroutine, or by looking itself."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

from asgiref.sync import sync_to_async

from ..lifecycle.clearing import REMEMBERED
from ..lifecycle.sighting import Sight, look

# Seconds between two looks, at the least.
PACE = 0.2
# Seconds of one wait in a thread, of a watch that may go on for longer: no lock can be waited for for ever.
LONGEST = 3600.0


class Deadline:
    """When a watch ends by its timeout, in real time whatever a test's clock says."""

    def __init__(self, timeout: float | None) -> None:
        self._at = None if timeout is None else time.monotonic() + timeout

    @property
    def passed(self) -> bool:
        return self._at is not None and time.monotonic() >= self._at

    def left(self, most: float | None = None) -> float | None:
        """Seconds until then, at most so many; None for ever."""
        left = None if self._at is None else max(0.0, self._at - time.monotonic())
        return min((one for one in (left, most) if one is not None), default=None)


class Watcher:
    """Somebody who is shown what the hub sees: the latest, where there was more than one since."""

    def __init__(self, queue: str, sight: Sight) -> None:
        self.queue = queue
        self.latest = sight

    def show(self, sight: Sight) -> None:
        """Hands over what there is to see now. Called by the hub's thread."""
        self.latest = sight
        self.wake()

    def wake(self) -> None:
        """Ends the wait."""
        raise NotImplementedError

    @property
    def is_gone(self) -> bool:
        """Whether nobody can be waiting any more, though nobody has left."""
        return False

    def news(self, shown: Sight) -> bool:
        return self.latest is not shown and (self.latest.over or shown.differs(self.latest.job))


class InThread(Watcher):
    """A thread that waits."""

    def __init__(self, queue: str, sight: Sight) -> None:
        super().__init__(queue, sight)
        self._woken = threading.Event()

    def wake(self) -> None:
        self._woken.set()

    def next(self, shown: Sight, deadline: Deadline) -> Sight | None:
        """What is to be seen instead of what was shown, as soon as there is; None once the deadline has passed."""
        while not self.news(shown):
            if deadline.passed:
                return None
            self._woken.wait(deadline.left(LONGEST))
            self._woken.clear()
        return self.latest


class InLoop(Watcher):
    """A coroutine that waits, and no thread with it."""

    def __init__(self, queue: str, sight: Sight) -> None:
        super().__init__(queue, sight)
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        with suppress(RuntimeError):  # its event loop has been closed
            self._loop.call_soon_threadsafe(self._woken.set)

    @property
    def is_gone(self) -> bool:
        return self._loop.is_closed()

    async def anext(self, shown: Sight, deadline: Deadline, idle: float | None) -> Sight | None:
        """The same; what was shown, again, where nothing changed for `idle` seconds."""
        patient = Deadline(idle)
        while not self.news(shown):
            if deadline.passed:
                return None
            if patient.passed:
                return shown
            with suppress(TimeoutError):
                async with asyncio.timeout(deadline.left(patient.left())):
                    await self._woken.wait()
            self._woken.clear()
        return self.latest


class Alone:
    """Whoever is inside a transaction, whose rows no other thread sees, looks on its own connection."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._looked_at = time.monotonic()

    def next(self, shown: Sight, deadline: Deadline) -> Sight | None:
        """As a watcher's in a thread."""
        while not deadline.passed:
            time.sleep(deadline.left(self._rest()) or 0.0)
            if (sight := self._look(shown)) is not None:
                return sight
        return None

    async def anext(self, shown: Sight, deadline: Deadline, idle: float | None) -> Sight | None:
        """As a watcher's in a coroutine. It sleeps there, and not in the thread that Django keeps for what is sync."""
        patient = Deadline(idle)
        while not deadline.passed:
            await asyncio.sleep(deadline.left(self._rest()) or 0.0)
            if (sight := await sync_to_async(self._look)(shown)) is not None:
                return sight
            if patient.passed:
                return shown
        return None

    def _rest(self) -> float:
        return max(0.0, self._looked_at + PACE - time.monotonic())

    def _look(self, shown: Sight) -> Sight | None:
        before, self._looked_at = self._looked_at, time.monotonic()
        late = self._looked_at - before > REMEMBERED / 1e6
        return look(self._alias, {None: shown}, late).news.get(None)
