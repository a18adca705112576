"""The queue's SQL on PostgreSQL. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
import selectors
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import BigIntegerField, F, Func, Value
from django.db.models.expressions import BaseExpression, RawSQL
from psycopg import IsolationLevel
from psycopg.errors import DeadlockDetected
from psycopg.pq import TransactionStatus

from ..timing import clock
from .base import Database, held, parameters
from .listening import WATCHED, Listener, NotifyListener
from .rows import Batch, Claimed, Fence, Settled

# poll where there is one: select knows no file above 1,023, and many handlers open many.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class PostgreSQL(Database):
    vendor = "postgresql"
    NOW = "(extract(epoch from statement_timestamp()) * 1000000)::bigint"
    AT = "coalesce(%(at)s::bigint, {now} + %(delay)s::bigint)"
    AMONG = "= any(%(ids)s)"

    # Neither this nor SETTLE says state = 1: the planner would walk the running index, which is full of dead
    # entries under load. SKIP LOCKED: one user's open `set` must not hold up a whole round.
    REMOVED = """
        ended as materialized (
          select job.id from tinystore_django_job job
          join unnest(%(ids)s::bigint[], %(runs)s::int[], %(leases)s::bigint[]) done(id, run, lease)
            on job.id = done.id and job.run = done.run and job.lease = done.lease
          where job.next_at is null or job.cancelled for update of job skip locked),
        removed as (
          delete from tinystore_django_job where id = any(array(select id from ended)) returning id, run, lease)
    """

    # A worker's whole round in one statement, and so in one trip and one commit. The ORM has no UPDATE of a
    # limited, locked, ordered selection with RETURNING. array(...) is evaluated once, so that the rows are found
    # by their primary key and never more of them than the limit.
    CLAIM = f"""
        with {REMOVED},
        claimed as (
          update tinystore_django_job job
          set state = 1, lease = %(lease)s, run = run + 1, attempt = attempt + 1, started_at = {{now}}
          where id = any(array(
            select head.id from unnest(%(queues)s::text[], %(free)s::int[]) wanted(queue, free)
            cross join lateral (
              select id from tinystore_django_job where queue = wanted.queue and state = 0 and at <= {{now}}
              order by at, id limit wanted.free for update skip locked) head))
          returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at)
        select {{now}}, (
            select min(head.at) from unnest(%(queues)s::text[]) known(queue)
            cross join lateral (
              select at from tinystore_django_job where queue = known.queue and state = 0 and at > {{now}}
              order by at limit 1) head),
          array(select array[id, run, lease] from removed), claimed.*
        from (select 1) always left join claimed on true
    """

    REMOVE = f"with {REMOVED} select id, run, lease from removed"

    SETTLE = """
        with settled as materialized (
          select job.id as job_id, done.* from tinystore_django_job job
          join jsonb_to_recordset(%(rows)s::jsonb) done(id bigint, run int, lease bigint, seen_next bigint,
            seen_repeat text, state smallint, attempt int, at bigint, due bigint, "group" text, error text,
            traceback text, keep_error bool, released bool, ended_at bigint, until bigint, kept_until bigint,
            last_started_at bigint, last_ended_at bigint)
            on job.id = done.id and job.run = done.run and job.lease = done.lease
          where job.next_at is not distinct from done.seen_next and not job.cancelled
            and job.repeat is not distinct from done.seen_repeat
          for update of job skip locked)
        update tinystore_django_job job set state = settled.state, attempt = settled.attempt,
          at = coalesce(settled.at, job.at), due = settled.due, "group" = settled."group",
          error = case when settled.keep_error then job.error else settled.error end,
          traceback = case when settled.keep_error then job.traceback else settled.traceback end,
          released = settled.released, ended_at = settled.ended_at, until = settled.until,
          kept_until = settled.kept_until,
          last_started_at = coalesce(settled.last_started_at, job.last_started_at),
          last_ended_at = coalesce(settled.last_ended_at, job.last_ended_at),
          lease = null, started_at = null, progress = null, next_at = null, next_group = null
        from settled where job.id = settled.job_id returning settled.id, settled.run, settled.lease
    """

    # Two to five times as fast as an insert, but it knows no ON CONFLICT: for jobs whose ids are all free.
    COPY = """copy tinystore_django_job (queue, key, value, "group", at, due) from stdin"""

    # The limit keeps it a look at the index for each id: a join would be planned by statistics that a bulk outdates.
    ANY_TAKEN = """
        select exists (select 1 from json_array_elements_text(%(keys)s::json) given(key)
          cross join lateral (select from tinystore_django_job job
            where job.queue = %(queue)s and job.key = given.key and not job.released limit 1) taken)
    """

    # JSON, not arrays: the driver writes an array element by element, which takes longer than the insert itself.
    INSERT_MANY = """
        with added as (
          insert into tinystore_django_job (queue, key, value, "group", at, due)
          select %(queue)s, key, value, "group", %(at)s, %(at)s
          from rows from (json_array_elements_text(%(keys)s::json), json_array_elements_text(%(values)s::json),
            json_array_elements_text(%(groups)s::json)) with ordinality job(key, value, "group", place)
          order by place on conflict do nothing returning 1)
        select count(*) from added
    """

    CLEAR = """
        delete from tinystore_django_job where id = any(array(
          select id from tinystore_django_job where kept_until <= {now}
            and (state <> 2 or ended_at <= {now} - %(remembered)s) order by kept_until
          limit %(most)s for update skip locked))
        returning id
    """

    TELL = "select pg_notify(%(channel)s, %(queue)s)"

    TELL_ALL = "select pg_notify(%(channel)s, word) from unnest(%(words)s::text[]) said(word)"

    def array(self, numbers: Sequence[int]) -> Any:
        return list(numbers)

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

    def insert_many(self, batch: Batch) -> int:
        if self._are_free(batch.queue, [key for key, _, _ in batch.jobs if key is not None]):
            # Should another add one of them between our look and our copy, the insert leaves it out.
            with suppress(IntegrityError), transaction.atomic(using=self.alias):
                return self._copy(batch)
        keys, values, groups = map(json.dumps, zip(*batch.jobs, strict=True))
        parameters = {"queue": batch.queue, "at": batch.at, "keys": keys, "values": values, "groups": groups}
        return int(self.run(self.INSERT_MANY, parameters)[0][0])

    def _are_free(self, queue: str, keys: Sequence[str]) -> bool:
        if len(set(keys)) < len(keys):
            return False
        return not keys or not self.run(self.ANY_TAKEN, {"queue": queue, "keys": json.dumps(keys)})[0][0]

    def _copy(self, batch: Batch) -> int:
        with self.connection.cursor() as cursor, self.connection.wrap_database_errors, cursor.copy(self.COPY) as copy:
            for key, value, group in batch.jobs:
                copy.write_row((batch.queue, key, value, group, batch.at, batch.at))
        return len(batch.jobs)

    def transaction(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.in_transaction() else transaction.atomic(using=self.alias)

    @contextmanager
    def worker_transaction(self) -> Iterator[None]:
        # Under REPEATABLE READ a claim would fail on every row that another worker took first.
        if not self.in_transaction():
            self.connection.ensure_connection()
            raw = self.connection.connection
            if raw.isolation_level != IsolationLevel.READ_COMMITTED:
                with self.connection.wrap_database_errors:  # it may have died this moment
                    raw.isolation_level = IsolationLevel.READ_COMMITTED
        with self.transaction():
            yield

    def claim(self, lease: int, wanted: Mapping[str, int], ended: Sequence[Fence] = ()) -> Claimed:
        parameters = {"lease": lease, "queues": list(wanted), "free": list(wanted.values())}
        rows = self.run(self.CLAIM, parameters | _fences(ended))
        now, next_due, removed, *_ = rows[0]
        taken = sorted((row[3:] for row in rows if row[3] is not None), key=lambda row: (row[-1], row[0]))
        return Claimed(now, held(lease, (row[:-1] for row in taken)), next_due, _as_fences(removed))

    def remove(self, runs: Sequence[Fence]) -> set[Fence]:
        return _as_fences(self.run(self.REMOVE, _fences(runs)))

    def settle(self, rows: Sequence[Settled]) -> set[Fence]:
        return _as_fences(self.run(self.SETTLE, {"rows": json.dumps([parameters(row) for row in rows])}))

    def is_deadlock(self, error: DatabaseError) -> bool:
        return isinstance(error.__cause__, DeadlockDetected)

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


def _fences(runs: Sequence[Fence]) -> dict[str, list[int]]:
    ids, numbers, leases = map(list, zip(*runs, strict=True)) if runs else ([], [], [])
    return {"ids": ids, "runs": numbers, "leases": leases}


def _as_fences(rows: Iterable[Sequence[int]]) -> set[Fence]:
    return {(job, run, lease) for job, run, lease in rows}
