"""A dead database costs a worker a pause: longer each time, said once a minute, and never its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.db import Error

from ..log import logger

FIRST, LONGEST = 0.1, 5.0  # seconds
EVERY = 60.0  # seconds between two lines in the log


class Patience:
    """Shared by the threads of one worker, or of those who watch; each has its own pauses, the log is in common."""

    def __init__(self, alias: str, who: str = "the worker") -> None:
        self._alias = alias
        self._who = who
        self._lock = threading.Lock()
        self._said = -EVERY
        self._pauses = threading.local()
        self._waiting: list[Callable[[], object]] = []  # what ends the pause of each thread

    def on_well(self, end_pause: Callable[[], object]) -> None:
        """Calls as soon as any of the threads is answered again, so that no other waits longer than it has to."""
        self._waiting.append(end_pause)

    def lost(self, error: Exception) -> float:
        """Notes a failure, and says for how many seconds to pause."""
        pause: float = getattr(self._pauses, "next", FIRST)
        self._pauses.next = min(2 * pause, LONGEST)
        with self._lock:
            if time.monotonic() - self._said >= EVERY:
                self._said = time.monotonic()
                self._say(error)
        return pause

    def _say(self, error: Exception) -> None:
        if isinstance(error, (Error, OSError)) or type(error).__module__.startswith("psycopg"):
            first_line = (str(error).splitlines() or [type(error).__name__])[0]
            logger.warning("database %r: %s; going on as soon as it answers", self._alias, first_line)
        else:
            logger.error("%s of database %r stumbled, and goes on", self._who, self._alias, exc_info=error)

    def well(self) -> None:
        """Notes that this thread's work went well."""
        if getattr(self._pauses, "next", FIRST) > FIRST:
            self._pauses.next = FIRST
            for end_pause in self._waiting:
                end_pause()
