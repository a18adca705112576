"""How this thread runs a statement, and on which connection."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from threading import local
from typing import Any, ClassVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ..timing import clock
from .inserting import UNLESS_TAKEN

Rows = list[tuple[Any, ...]]
NUMBERS = 2**63 - 1  # up to which a column of numbers has them: SQLite takes text there, too, and sorts it behind
PARAMETER = re.compile(r"%\((\w+)\)s")


class _Here(local):
    own: BaseDatabaseWrapper | None = None  # the connection of a thread that is a worker's own


class Statements(ABC):
    """One alias. It holds no connection of its own: each thread has Django's."""

    NOW: ClassVar[str]  # the database's time, in microseconds since 1970
    INSTANT: ClassVar[str]  # the same, at the moment it is asked
    # That a job has its id, in the words of the index of ids, which SQLite compares: Django's versions differ there.
    TAKEN: ClassVar[str] = "not released"
    UNLESS_TAKEN: ClassVar[str] = UNLESS_TAKEN

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self._here = _Here()

    @property
    def connection(self) -> BaseDatabaseWrapper:
        """This thread's connection."""
        return self._here.own or connections[self.alias]

    def in_transaction(self) -> bool:
        """Whether this thread has a transaction open on it, or manages them by hand."""
        return self.connection.in_atomic_block or not self.connection.get_autocommit()

    def own_thread(self) -> None:
        """Has this thread's statements go to the driver itself from now on: it is a worker's own. Django's cursor costs
        more than a quick statement does, and what it adds, nobody asks of this thread: a log, a ban, a hook."""
        self._here.own = connections[self.alias]

    def session(self) -> object | None:
        """The server's session that answers this thread, as a value; None where it is not this thread's own."""
        return None

    def run(self, sql: str, parameters: dict[str, Any] | None = None) -> Rows:
        """Runs one statement, with {now} put in, and gives its rows."""
        bound = {**(parameters or {}), "now": clock.now()}
        if own := self._here.own:
            with own.wrap_database_errors:
                return self.drive(self.timed(sql), bound)
        with self.connection.cursor() as cursor:
            cursor.execute(self.timed(sql), bound)
            return cursor.fetchall() if cursor.description else []

    @abstractmethod
    def drive(self, sql: str, parameters: dict[str, Any]) -> Rows:
        """Runs one statement by the driver, and gives its rows."""

    def driver(self) -> Any:
        """The driver's connection under this thread's own."""
        connection = self.connection
        if connection.connection is None:
            connection.ensure_connection()
        return connection.connection

    def run_all(self, statements: Sequence[str], parameters: dict[str, Any]) -> list[Rows]:
        """Runs statements one after another, each seeing what the ones before it did, and gives the rows of each."""
        return [self.run(sql, parameters) for sql in statements]

    def timed(self, sql: str) -> str:
        frozen = clock.frozen() is not None
        now, instant = ("%(now)s", "%(now)s") if frozen else (self.NOW, self.INSTANT)
        return _timed(sql, now, instant, self.TAKEN)


@cache
def _timed(sql: str, now: str, instant: str, taken: str) -> str:
    return sql.replace("{now}", now).replace("{instant}", instant).replace("{taken}", taken)
