"""The queue's SQL on SQLite, whose single writer makes every count exact. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from sqlite3 import ProgrammingError
from threading import local
from typing import Any

from django.db import DatabaseError, OperationalError, transaction
from django.db.models import BigIntegerField, BinaryField, Func, Value
from django.db.models.expressions import BaseExpression
from django.db.models.functions import Cast, Length

from ..timing import clock
from .base import Database, Rows, held, parameters
from .listening import FileListener, Listener
from .rows import Batch, Claimed, Fence, Renewal, Settled, Start
from .sqlite_limits import SQLiteLimits


class SQLite(Database):
    vendor = "sqlite"
    LIMITS = SQLiteLimits
    NOW = "%(now)s"
    AMONG = "in (select value from json_each(%(ids)s))"
    # Seconds. The lock goes to whoever asks at the right moment: while others write, a worker that never rests
    # starves them. data_version moves with the commits of other connections only.
    REST = 0.002
    VERSION = "pragma data_version"
    ASK = 0.001  # seconds between two tries to renew a lease

    INSERT_ROW = """
        insert into tinystore_django_job (queue, key, value, "group", state, at, due)
        values (%s, %s, %s, %s, %s, %s, %s) on conflict do nothing
    """

    # The first due time of each queue: an idle worker's only question.
    HEADS = f"""
        select known.value,
          (select at from tinystore_django_job where queue = known.value and state = 0 order by at, id limit 1)
        from json_each(%(queues)s) known where {Database.PLAYING.format(queue="known.value")}
    """

    # Asked again: while it waited for the lock, its queue may have been paused.
    CLAIM = f"""
        update tinystore_django_job
        set state = 1, lease = %(lease)s, run = run + 1, attempt = attempt + 1, started_at = {{now}}
        where id in (select id from tinystore_django_job where queue = %(queue)s and state = 0 and at <= {{now}}
          and {Database.PLAYING.format(queue="%(queue)s")} order by at, id limit %(free)s)
        returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at
    """

    RUNNING = "select count(*) from tinystore_django_job where queue = %(queue)s and state = 1"

    NEXT_DUE = f"""
        select min(at) from (
          select (select at from tinystore_django_job where queue = known.value and state = 0 and at > {{now}}
            order by at limit 1) as at
          from json_each(%(queues)s) known where {Database.PLAYING.format(queue="known.value")})
    """

    REMOVE = """
        delete from tinystore_django_job
        where id = %(id)s and run = %(run)s and lease = %(lease)s and (next_at is null or cancelled) returning id
    """

    SETTLE = """
        update tinystore_django_job set state = %(state)s, attempt = %(attempt)s,
          at = coalesce(%(at)s, at), due = %(due)s, "group" = %(group)s,
          error = case when %(keep_error)s then error else %(error)s end,
          traceback = case when %(keep_error)s then traceback else %(traceback)s end,
          released = %(released)s, ended_at = %(ended_at)s, until = %(until)s, kept_until = %(kept_until)s,
          last_started_at = coalesce(%(last_started_at)s, last_started_at),
          last_ended_at = coalesce(%(last_ended_at)s, last_ended_at),
          lease = null, started_at = null, next_at = null, next_group = null
        where id = %(id)s and run = %(run)s and lease = %(lease)s
          and next_at is %(seen_next)s and repeat is %(seen_repeat)s and not cancelled
        returning id
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
        connection: Any = self.connection
        return self.in_transaction() or connection.is_in_memory_db()

    def array(self, numbers: Sequence[int]) -> Any:
        return json.dumps(list(numbers))

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

    def worker_transaction(self) -> AbstractContextManager[Any]:
        return self.transaction()

    def claim(
        self,
        lease: int,
        wanted: Mapping[str, int],
        ended: Sequence[Fence] = (),
        totals: Mapping[str, int] | None = None,
        lets_go: bool = False,
        starts: Mapping[str, Start] | None = None,
    ) -> Claimed:
        if not ended:
            return self._claim(lease, wanted, totals or {})
        with self.worker_transaction():
            removed = self.remove(ended)
            return replace(self._claim(lease, wanted, totals or {}), removed=removed)

    def _claim(self, lease: int, wanted: Mapping[str, int], totals: Mapping[str, int]) -> Claimed:
        queues = json.dumps(list(wanted))
        heads = {queue: at for queue, at in self.run(self.HEADS, {"queues": queues}) if at is not None}
        now = clock.now()
        due = [queue for queue, at in heads.items() if at <= now and wanted[queue] > 0]
        if not due:
            return Claimed(now, next_due=min((at for at in heads.values() if at > now), default=None))
        with self.worker_transaction():
            rows = [row for queue in due for row in self._claim_queue(lease, queue, wanted[queue], totals.get(queue))]
            next_due = self.run(self.NEXT_DUE, {"queues": queues})[0][0]
        taken = sorted(rows, key=lambda row: (row[-1], row[0]))
        return Claimed(now, held(lease, taken), next_due)

    def _claim_queue(self, lease: int, queue: str, free: int, total: int | None) -> Rows:
        if total is not None:
            free = max(0, min(free, total - self.run(self.RUNNING, {"queue": queue})[0][0]))
        return self.run(self.CLAIM, {"lease": lease, "queue": queue, "free": free})

    def remove(self, runs: Sequence[Fence]) -> set[Fence]:
        return {fence for fence in runs if self.run(self.REMOVE, dict(zip(("id", "run", "lease"), fence, strict=True)))}

    def settle(self, rows: Sequence[Settled]) -> set[Fence]:
        return {row.fence for row in rows if self.run(self.SETTLE, parameters(row))}

    def is_locked_out(self, error: DatabaseError) -> bool:
        return False  # its one lock is everybody's

    def is_deadlock(self, error: DatabaseError) -> bool:
        return False  # there is one writer

    def clear(self, most: int, remembered: int) -> int:
        return len(self.run(self.CLEAR, {"most": most, "remembered": remembered}))

    def rest(self) -> float:
        version = self.run(self.VERSION)[0][0]
        before, self._versions.seen = getattr(self._versions, "seen", version), version
        return self.REST if version != before else 0.0

    def tell(self, queue: str) -> None:
        """Nobody listens: the workers see the file change."""

    def tell_workers(self, watched: Sequence[str]) -> None:
        """Nobody listens: those who watch see the file change."""

    def tell_watchers(self, moved: Sequence[str]) -> None:
        """Nobody listens: those who watch see the file change."""

    def listener(self, notify: bool, moves: bool = False) -> Listener | None:
        connection: Any = self.connection
        return None if connection.is_in_memory_db() else FileListener(str(connection.settings_dict["NAME"]))

    def woken(self, notify: bool) -> str:
        connection: Any = self.connection
        return "" if connection.is_in_memory_db() else f"{FileListener.how} "

    def is_clean(self) -> bool:
        return self.is_alive() and not self.connection.connection.in_transaction

    def is_alive(self) -> bool:
        try:
            return bool(self.connection.connection.total_changes >= 0)
        except ProgrammingError:  # a handler has closed the driver's connection under Django's
            return False
