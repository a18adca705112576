"""The queue's SQL on PostgreSQL. Why it is as it is: docs/architecture."""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.db import DatabaseError, OperationalError, transaction
from django.db.models import BigIntegerField, F, Func, Value
from django.db.models.expressions import BaseExpression, RawSQL
from psycopg import IsolationLevel
from psycopg.errors import (
    DeadlockDetected,
    FeatureNotSupported,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    SerializationFailure,
)
from psycopg.pq import TransactionStatus

from .. import conf
from ..timing import clock
from .listening import WATCHED, Listener, NotifyListener
from .postgresql_bulk import insert_many
from .postgresql_isolation import READ_COMMITTED, is_strict
from .postgresql_rounds import PostgreSQLRounds
from .rows import Batch, NewJob

# poll where there is one: select knows no file above 1,023, and many handlers open many.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class PostgreSQL(PostgreSQLRounds):
    vendor = "postgresql"
    NOW = "(extract(epoch from statement_timestamp()) * 1000000)::bigint"
    # The time of a statement that waited for a lock is older than the wait.
    INSTANT = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
    AMONG = "= any(%(ids)s)"
    TRIES = 100  # of an add that other transactions keep getting in the way of

    CLEAR = """
        delete from tinystore_django_job where id = any(array(
          select id from tinystore_django_job where kept_until <= {now}
            and (state <> 2 or ended_at <= {now} - %(remembered)s) order by kept_until
          limit %(most)s for update skip locked))
        returning id
    """

    FORBIDDEN = """
        select relname from pg_class
        where relname like 'tinystore\\_django\\_%%' and relkind in ('r', 'p') and pg_table_is_visible(oid)
          and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
            and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))
        order by relname
    """

    SUMS = "json_to_recordset(%(sums)s::json) sums(queue text, started bigint, failed bigint, longest_wait bigint)"

    TELL = "select pg_notify(%(channel)s, %(queue)s)"

    TELL_ALL = "select pg_notify(%(channel)s, word) from unnest(%(words)s::text[]) said(word)"

    def encoding(self) -> str:
        return str(self.run("show server_encoding")[0][0])

    def forbidden(self) -> list[str]:
        return [name for (name,) in self.run(self.FORBIDDEN)]

    def array(self, values: Sequence[int] | Sequence[str]) -> Any:
        return list(values)

    def session(self) -> object | None:
        return self.driver() if self._keeps and conf.notify() else None

    def now(self) -> int:
        if (frozen := clock.frozen()) is not None:
            return frozen
        return int(self.run(f"select {self.NOW}")[0][0])

    def now_expression(self) -> BaseExpression:
        if (frozen := clock.frozen()) is not None:
            return Value(frozen, output_field=BigIntegerField())
        return RawSQL(self.NOW, (), output_field=BigIntegerField())

    def size_expression(self, column: str) -> Func:
        return Func(F(column), function="octet_length", output_field=BigIntegerField())

    def insert(self, new: NewJob, unless_taken: bool = True) -> bool:
        for _ in range(self.TRIES - 1):
            try:
                return super().insert(new, unless_taken)
            except OperationalError as error:
                # Under a stricter level than READ COMMITTED, of an id that another transaction has just taken.
                if self.in_transaction() or not isinstance(error.__cause__, SerializationFailure):
                    raise
        return super().insert(new, unless_taken)

    def insert_many(self, batch: Batch) -> int:
        return insert_many(self, batch)

    def transaction(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.in_transaction() else transaction.atomic(using=self.alias)

    @contextmanager
    def own_transaction(self) -> Iterator[None]:
        # Under REPEATABLE READ a claim would fail on every row that another worker took first.
        if self.in_transaction():
            yield
            return
        session = self.driver()
        chosen = session.isolation_level
        with self.connection.wrap_database_errors:  # it may have died this moment
            session.isolation_level = IsolationLevel.READ_COMMITTED
        try:
            with self.transaction():
                yield
        finally:
            if not session.closed:  # of `run_due` it is the caller's
                session.isolation_level = chosen

    def hasten(self, seconds: float = 1.0) -> None:
        pass  # it skips what is locked

    def own_thread(self) -> None:
        super().own_thread()
        self.connection.execute_wrappers.append(self._committed)  # what the ORM asks of it goes by Django's cursor

    def read_committed(self) -> AbstractContextManager[Any]:
        return self.connection.execute_wrapper(self._committed)

    def _committed(self, execute: Callable[..., Any], *statement: Any) -> Any:
        session = self.driver()
        with self.connection.wrap_database_errors:
            strict = session.info.transaction_status == TransactionStatus.IDLE and is_strict(session)
            if strict and not session.autocommit:  # the first of a transaction that the ORM has begun
                session.execute(READ_COMMITTED)
        with self.own_transaction() if strict else nullcontext():
            return execute(*statement)

    @contextmanager
    def quick_reads(self) -> Iterator[None]:
        # What the planner expects of ten thousand rows makes the server compile the statement: half a second, for
        # one that takes a hundredth of it. LOCAL ends with the transaction, so that a pooler sees nothing of it.
        with self.transaction():
            self.run("set local jit = off")
            yield

    def is_locked_out(self, error: DatabaseError) -> bool:
        return isinstance(error.__cause__, LockNotAvailable)

    def is_deadlock(self, error: DatabaseError) -> bool:
        return isinstance(error.__cause__, DeadlockDetected)

    def is_useless(self, error: DatabaseError) -> bool:
        cause = error.__cause__
        stale = isinstance(cause, FeatureNotSupported) and "cached plan" in str(cause)
        return stale or isinstance(cause, ReadOnlySqlTransaction)

    def clear(self, most: int, remembered: int) -> int:
        return len(self.run(self.CLEAR, {"most": most, "remembered": remembered}))

    def rest(self) -> float:
        return 0.0

    def tell(self, queue: str) -> None:
        self.run(self.TELL, {"channel": NotifyListener.CHANNEL, "queue": queue})

    def tell_workers(self, watched: Sequence[str]) -> None:
        words = [f"{WATCHED}{queue}" for queue in watched]
        self.run(self.TELL_ALL, {"channel": NotifyListener.CHANNEL, "words": words})

    def tell_watchers(self, moved: Sequence[str]) -> None:
        self.run(self.TELL_ALL, {"channel": NotifyListener.MOVES, "words": list(moved)})

    def listener(self, notify: bool, moves: bool = False) -> Listener | None:
        channels = [NotifyListener.MOVES] if moves else []
        return NotifyListener(self.connection.get_connection_params(), *channels) if notify else None

    def woken(self, notify: bool) -> str:
        return f"{NotifyListener.how} " if notify else ""

    def is_clean(self) -> bool:
        raw = self.connection.connection
        return not raw.closed and raw.autocommit and raw.info.transaction_status == TransactionStatus.IDLE

    def is_alive(self) -> bool:
        raw = self.connection.connection
        if raw.closed:
            return False
        # An idle server says nothing: something to read is its farewell, or a notice of a handler's own LISTEN.
        with _Selector() as selector:
            selector.register(raw.fileno(), selectors.EVENT_READ)
            readable = selector.select(0)
        return not readable or self.connection.is_usable()
