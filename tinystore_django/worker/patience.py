"""A dead database costs a worker a pause: longer each time, said once a minute, and never its end."""

from __future__ import annotations

import logging
import threading
import time

logger = logging.getLogger("tinystore_django")

FIRST, LONGEST = 0.1, 30.0  # seconds
EVERY = 60.0  # seconds between two lines in the log


class Patience:
    """Shared by the threads of one worker, each with its own pauses; the log is theirs in common."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._lock = threading.Lock()
        self._said = -EVERY
        self._pauses = threading.local()

    def lost(self, error: Exception) -> float:
        """Notes a failure, and says for how many seconds to pause."""
        pause: float = getattr(self._pauses, "next", FIRST)
        self._pauses.next = min(2 * pause, LONGEST)
        with self._lock:
            if time.monotonic() - self._said >= EVERY:
                self._said = time.monotonic()
                logger.warning("database %r: %s; going on as soon as it answers", self._alias, _first_line(error))
        return pause

    def well(self) -> None:
        """Notes that this thread's work went well."""
        self._pauses.next = FIRST


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
