"""What a worker's jobs did, said to whoever watches them; nothing is said, nor asked, while nobody does."""

from __future__ import annotations

import time

from ..databases import database

# Seconds that a word of a watch is believed. It is said again every `watching.hub.SAY`.
WATCHED_FOR = 15.0


class Moves:
    """The queues that somebody watches, and those of them in which something happened since the last word of it."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._watched_until: dict[str, float] = {}
        self._moved: set[str] = set()

    @property
    def untold(self) -> bool:
        """Whether there is something to say."""
        return bool(self._moved)

    def watched(self, queue: str) -> None:
        """Hears that somebody watches jobs of a queue."""
        self._watched_until[queue] = time.monotonic() + WATCHED_FOR

    def note(self, queue: str) -> bool:
        """Notes that a job was claimed or settled, or reported progress; whether anybody is to be told."""
        if time.monotonic() >= self._watched_until.get(queue, 0.0):
            return False
        self._moved.add(queue)
        return True

    def tell(self) -> bool:
        """Tells what was noted, in one statement; whether there was anything."""
        moved = set()
        while self._moved:  # one by one: another thread may add to it
            moved.add(self._moved.pop())
        if moved:
            database(self._alias).tell_watchers(sorted(moved))
        return bool(moved)
