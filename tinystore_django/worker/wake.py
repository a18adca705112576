"""What ends a loop's sleep."""

from __future__ import annotations

import threading
import time

from ..timing.waits import bounded

# A notice speaks for what is added within lifecycle.notices.QUIET of it: a look after that finds the rest, in seconds.
LOOK_AGAIN = 0.025


class Wake:
    """An event with a memory: after a notice it wakes its loop once more, a little later."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._again_at: float | None = None

    def set(self) -> None:
        """Ends the sleep."""
        if not self._event.is_set():
            self._event.set()

    def notice(self) -> None:
        """Ends the sleep, and a later one too."""
        self._again_at = time.monotonic() + LOOK_AGAIN
        self._event.set()

    def wait(self, seconds: float) -> None:
        """Sleeps until woken, at most so long. What was set while awake ends it at once."""
        again_at = self._again_at
        if again_at is not None:
            seconds = min(seconds, max(0.0, again_at - time.monotonic()))
        self._event.wait(bounded(seconds))
        self._event.clear()
        if again_at is not None and time.monotonic() >= again_at and self._again_at == again_at:
            self._again_at = None
