"""How a worker hears that something was added, without asking."""

from __future__ import annotations

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

# A name no queue can have: something was added, to whichever queue.
ANY = ""
# What those who watch jobs say to the workers, before a queue's name. No name has a space in it.
WATCHED = "watched "
# Of a queue's name, in characters.
LONGEST_NAME = 64


class Listener(ABC):
    """One source of notices. It is used by one thread, and closed by it."""

    how: ClassVar[str]
    # Whether one notice speaks for what is added just after it, too, so that another look is due a little later.
    gathers: ClassVar[bool] = False

    @abstractmethod
    def wait(self, seconds: float) -> set[str]:
        """The queues that were added to, as soon as there are any; none after `seconds`.

        Raises:
            OSError or the driver's error: it hears nothing any more, and another must take its place.
        """

    @abstractmethod
    def close(self) -> None:
        """Lets go of what it holds."""


class FileListener(Listener):
    """Looks at the times and sizes of a SQLite database's files: a few microseconds, and no query.

    A commit is written to the file before anybody may read it, and a slow disk may take long to say that it is
    safe. So once the file has changed, SQLite is asked whether there is anything new to read.
    """

    how = "by changes of the database's file"
    LOOK = 0.02  # seconds
    COMMIT = 2.0  # seconds from a write to the end of its commit, at the longest

    def __init__(self, name: str) -> None:
        file = file_of(name)
        if file is None:
            raise ValueError(f"{name!r} is in no file that could be looked at")
        self.files = [file, file.with_name(f"{file.name}-wal")]
        self.connection = sqlite3.connect(name, timeout=0, isolation_level=None, uri=True)
        self.seen = self._look()
        self.changed_at = time.monotonic()
        self.version = 0
        self.version = self._version()

    def wait(self, seconds: float) -> set[str]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.LOOK)
            if self._has_more():
                return {ANY}
        return set()

    def close(self) -> None:
        self.connection.close()

    def _has_more(self) -> bool:
        if (seen := self._look()) != self.seen:
            self.seen, self.changed_at = seen, time.monotonic()
        if time.monotonic() - self.changed_at > self.COMMIT:
            return False
        before, self.version = self.version, self._version()
        return self.version != before

    def _look(self) -> list[tuple[int, int]]:
        return [_signature(file) for file in self.files]

    def _version(self) -> int:
        """What differs once another connection has committed."""
        try:
            return int(self.connection.execute("pragma data_version").fetchall()[0][0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            self.changed_at = time.monotonic()  # somebody is at it: to be asked again
            return self.version


def file_of(name: str) -> Path | None:
    """The file of a SQLite database, by the name or the URI that the driver takes; None of one in memory."""
    path = name
    if name.startswith("file:"):
        uri = urlsplit(name)
        if parse_qs(uri.query).get("vfs") == ["memdb"] or "memory" in parse_qs(uri.query).get("mode", []):
            return None
        path = unquote(uri.path)
    # SQLite follows a link too, and writes the log beside what it leads to.
    return None if path in ("", ":memory:") else Path(os.path.realpath(path))


def _signature(file: Path) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


class NotifyListener(Listener):
    """A connection of its own that LISTENs."""

    how = "by LISTEN/NOTIFY"
    gathers = True
    CHANNEL = "tinystore"
    # What the workers did with jobs that somebody watches: a channel that they do not listen to themselves.
    MOVES = "tinystore_moves"
    # A server that vanished without a word is noticed within half a minute.
    KEEPALIVE = {
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "connect_timeout": 10,
    }

    def __init__(self, parameters: dict[str, Any], *channels: str) -> None:
        import psycopg
        from psycopg import sql

        self.connection = psycopg.connect(**{**self.KEEPALIVE, **parameters}, autocommit=True)
        for channel in (self.CHANNEL, *channels):
            self.connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))

    # Characters of a notice that are kept: one more than the longest word of ours has. Anybody may send any.
    MOST = len(WATCHED) + LONGEST_NAME + 1

    def wait(self, seconds: float) -> set[str]:
        notices = self.connection.notifies(timeout=seconds, stop_after=1)
        return {notice.payload[: self.MOST] for notice in notices}

    def close(self) -> None:
        self.connection.close()
