"""A dead database costs a worker a pause: longer each time, said once a minute, and never its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.db import Error

from ..databases.troubles import beyond_waiting
from ..log import logger

FIRST, LONGEST = 0.1, 5.0  # seconds
EVERY = 60.0  # seconds between two lines in the log


class Patience:
    """Shared by the threads of one worker, or of those who watch; each has its own pauses, the log is in common."""

    def __init__(self, alias: str, who: str = "the worker") -> None:
        self._alias = alias
        self._who = who
        self._lock = threading.Lock()
        self._said: dict[str | None, float] = {}  # when what was said last
        self._pauses = threading.local()
        self._waiting: list[Callable[[], object]] = []  # what ends the pause of each thread

    def on_well(self, end_pause: Callable[[], object]) -> None:
        """Calls as soon as any of the threads is answered again, so that no other waits longer than it has to."""
        self._waiting.append(end_pause)

    def lost(self, error: Exception) -> float:
        """Notes a failure, and says for how many seconds to pause."""
        now = time.monotonic()
        pause: float = getattr(self._pauses, "next", FIRST)
        if pause == FIRST:
            self._pauses.since = now
        self._pauses.next = min(2 * pause, LONGEST)
        why = beyond_waiting(error)
        with self._lock:
            # What waiting does not mend is said at once, whatever was said before.
            if now - self._said.get(why, -EVERY) >= EVERY:
                self._said[why] = now
                self._say(error, why)
        return pause

    @property
    def unanswered(self) -> float:
        """For how many seconds this thread's work has not gone well."""
        fails = getattr(self._pauses, "next", FIRST) > FIRST
        return time.monotonic() - self._pauses.since if fails else 0.0

    def _say(self, error: Exception, why: str | None) -> None:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        if why is not None:
            logger.error("database %r: %s, which waiting does not mend: %s", self._alias, why, first_line)
        elif isinstance(error, (Error, OSError)) or type(error).__module__.startswith("psycopg"):
            logger.warning("database %r: %s; going on as soon as it answers", self._alias, first_line)
        else:
            logger.error("%s of database %r stumbled, and goes on", self._who, self._alias, exc_info=error)

    def well(self) -> None:
        """Notes that this thread's work went well."""
        if getattr(self._pauses, "next", FIRST) > FIRST:
            self._pauses.next = FIRST
            for end_pause in self._waiting:
                end_pause()
