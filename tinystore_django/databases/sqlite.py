"""The queue's SQL on SQLite, whose single writer makes every count exact. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import local
from typing import Any

from django.db import DatabaseError, OperationalError, transaction
from django.db.models import BigIntegerField, BinaryField, Func, Value
from django.db.models.expressions import BaseExpression
from django.db.models.functions import Cast, Length

from ..timing import clock
from .inserting import UNLESS_TAKEN_ON_SQLITE
from .listening import FileListener, Listener, file_of
from .rows import Batch, Renewal
from .sqlite_rounds import SQLiteRounds


class SQLite(SQLiteRounds):
    vendor = "sqlite"
    UNLESS_TAKEN = UNLESS_TAKEN_ON_SQLITE
    TAKEN = "not released and released = 0"
    NOW = INSTANT = "%(now)s"
    AMONG = "in (select value from json_each(%(ids)s))"
    # Seconds. The lock goes to whoever asks at the right moment: while others write, a worker that never rests
    # starves them. data_version moves with the commits of other connections only.
    REST = 0.002
    VERSION = "pragma data_version"
    ASK = 0.001  # seconds between two tries to renew a lease

    INSERT_ROW = f"""
        insert into tinystore_django_job (queue, key, value, "group", state, at, due)
        values (%s, %s, %s, %s, %s, %s, %s) {UNLESS_TAKEN_ON_SQLITE}
    """

    CLEAR = """
        delete from tinystore_django_job where id in (
          select id from tinystore_django_job where kept_until <= {now}
            and (state <> 2 or ended_at <= {now} - %(remembered)s) order by kept_until limit %(most)s)
        returning id
    """

    SUMS = """(
          select json_extract(value, '$.queue') as queue, json_extract(value, '$.started') as started,
            json_extract(value, '$.failed') as failed, json_extract(value, '$.longest_wait') as longest_wait
          from json_each(%(sums)s))"""

    def __init__(self, alias: str) -> None:
        super().__init__(alias)
        self._versions = local()  # each connection counts the commits of the others

    def is_alone(self) -> bool:
        return self.in_transaction() or file_of(self._name) is None

    @property
    def _name(self) -> str:
        return str(self.connection.settings_dict["NAME"])

    def encoding(self) -> str:
        return str(self.run("pragma encoding")[0][0])

    def array(self, values: Sequence[int] | Sequence[str]) -> Any:
        return json.dumps(list(values))

    def now(self) -> int:
        return clock.now()

    def now_expression(self) -> BaseExpression:
        return Value(clock.now(), output_field=BigIntegerField())

    def size_expression(self, column: str) -> Func:
        # Of a text SQLite counts the characters, of a blob the bytes.
        return Length(Cast(column, BinaryField()))

    def insert_many(self, batch: Batch) -> int:
        rows = [(batch.queue, *job, batch.at, batch.at) for job in batch.jobs]
        with self.connection.cursor() as cursor:
            cursor.executemany(self.INSERT_ROW, rows)
            return int(cursor.rowcount)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self.in_transaction():
            yield
            return
        connection: Any = self.connection
        connection.ensure_connection()
        # A transaction that reads and then writes fails at once when another wrote in between, however long the
        # timeout: the lock is taken before the first read, whatever mode the project's own transactions have.
        chosen, connection.transaction_mode = connection.transaction_mode, "IMMEDIATE"
        try:
            with transaction.atomic(using=self.alias):
                yield
        finally:
            connection.transaction_mode = chosen

    def renew(self, lease: int, span: int) -> Renewal | None:
        """As everywhere, but asking for the lock again and again: SQLite's own waiting looks ten times a second after
        a while, and so comes last where others write all the time. A lease cannot wait for so long."""
        # On the driver's connection: it is no question to the database, and none that Django counts.
        self.connection.ensure_connection()
        driver: Any = self.connection.connection
        (before,) = driver.execute("pragma busy_timeout").fetchone()
        driver.execute("pragma busy_timeout = 0")
        try:
            return self._renew_when_free(lease, span, time.monotonic() + min(before / 1e3, span / 3e6))
        finally:
            driver.execute(f"pragma busy_timeout = {before}")

    def _renew_when_free(self, lease: int, span: int, end: float) -> Renewal | None:
        while True:
            try:
                return super().renew(lease, span)
            except OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(self.ASK)

    def hasten(self, seconds: float = 1.0) -> None:
        self.connection.ensure_connection()
        driver: Any = self.connection.connection
        driver.execute(f"pragma busy_timeout = {round(seconds * 1000)}")

    def own_transaction(self) -> AbstractContextManager[Any]:
        return self.transaction()

    def is_locked_out(self, error: DatabaseError) -> bool:
        return False  # its one lock is everybody's

    def is_deadlock(self, error: DatabaseError) -> bool:
        return False  # there is one writer

    def clear(self, most: int, remembered: int) -> int:
        return len(self.run(self.CLEAR, {"most": most, "remembered": remembered}))

    def rest(self) -> float:
        version = self.driver().execute(self.VERSION).fetchone()[0]
        before, self._versions.seen = getattr(self._versions, "seen", version), version
        return self.REST if version != before else 0.0

    def tell(self, queue: str) -> None:
        """Nobody listens: the workers see the file change."""

    def tell_workers(self, watched: Sequence[str]) -> None:
        """Nobody listens: those who watch see the file change."""

    def tell_watchers(self, moved: Sequence[str]) -> None:
        """Nobody listens: those who watch see the file change."""

    def listener(self, notify: bool, moves: bool = False) -> Listener | None:
        return None if file_of(self._name) is None else FileListener(self._name)

    def woken(self, notify: bool) -> str:
        return "" if file_of(self._name) is None else f"{FileListener.how} "

    def is_useless(self, error: DatabaseError) -> bool:
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        return bool(code & 0xFF == sqlite3.SQLITE_READONLY)  # also one whose file was moved away under it

    def is_clean(self) -> bool:
        return self.is_alive() and not self.connection.connection.in_transaction

    def is_alive(self) -> bool:
        try:
            return bool(self.connection.connection.total_changes >= 0)
        except sqlite3.ProgrammingError:  # a handler has closed the driver's connection under Django's
            return False
