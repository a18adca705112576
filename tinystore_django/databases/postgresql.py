"""The queue's SQL on PostgreSQL. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, Value
from django.db.models.expressions import BaseExpression, RawSQL
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

from ..timing import clock
from .base import Database, held, parameters
from .listening import Listener, NotifyListener
from .rows import Claimed, Fence, Settled


class PostgreSQL(Database):
    vendor = "postgresql"
    NOW = "(extract(epoch from statement_timestamp()) * 1000000)::bigint"
    AT = "coalesce(%(at)s::bigint, {now} + %(delay)s::bigint)"

    # The ORM has no UPDATE of a limited, locked, ordered selection with RETURNING. array(...) is evaluated once,
    # so that the rows are found by their primary key and never more of them than the limit.
    CLAIM = """
        with claimed as (
          update tinystore_django_job job
          set state = 1, lease = %(lease)s, run = run + 1, attempt = attempt + 1, started_at = {now}
          where id = any(array(
            select head.id from unnest(%(queues)s::text[], %(free)s::int[]) wanted(queue, free)
            cross join lateral (
              select id from tinystore_django_job where queue = wanted.queue and state = 0 and at <= {now}
              order by at, id limit wanted.free for update skip locked) head))
          returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at)
        select claimed.*, {now}, (
            select min(head.at) from unnest(%(queues)s::text[]) known(queue)
            cross join lateral (
              select at from tinystore_django_job where queue = known.queue and state = 0 and at > {now}
              order by at limit 1) head)
        from (select 1) always left join claimed on true
    """

    # Neither this nor SETTLE says state = 1: the planner would walk the running index, which is full of dead
    # entries under load. SKIP LOCKED: one user's open `set` must not hold up a whole round.
    REMOVE = """
        with ended as materialized (
          select job.id from tinystore_django_job job
          join unnest(%(ids)s::bigint[], %(runs)s::int[], %(leases)s::bigint[]) done(id, run, lease)
            on job.id = done.id and job.run = done.run and job.lease = done.lease
          where job.next_at is null or job.cancelled for update of job skip locked)
        delete from tinystore_django_job where id = any(array(select id from ended)) returning id, run, lease
    """

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

    CLEAR = """
        delete from tinystore_django_job where id = any(array(
          select id from tinystore_django_job where kept_until <= {now} order by kept_until
          limit %(most)s for update skip locked))
        returning id
    """

    TELL = "select pg_notify(%(channel)s, %(queue)s)"

    def now(self) -> int:
        if (frozen := clock.frozen()) is not None:
            return frozen
        return int(self.run(f"select {self.NOW}")[0][0])

    def now_expression(self) -> BaseExpression:
        if (frozen := clock.frozen()) is not None:
            return Value(frozen, output_field=BigIntegerField())
        return RawSQL(self.NOW, (), output_field=BigIntegerField())

    def transaction(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.in_transaction() else transaction.atomic(using=self.alias)

    @contextmanager
    def worker_transaction(self) -> Iterator[None]:
        # Under REPEATABLE READ a claim would fail on every row that another worker took first.
        if not self.in_transaction():
            self.connection.ensure_connection()
            raw = self.connection.connection
            if raw.isolation_level != IsolationLevel.READ_COMMITTED:
                raw.isolation_level = IsolationLevel.READ_COMMITTED
        with self.transaction():
            yield

    def claim(self, lease: int, wanted: Mapping[str, int]) -> Claimed:
        parameters = {"lease": lease, "queues": list(wanted), "free": list(wanted.values())}
        rows = self.run(self.CLAIM, parameters)
        taken = sorted((row for row in rows if row[0] is not None), key=lambda row: (row[-3], row[0]))
        now, next_due = rows[0][-2:]
        return Claimed(now, held(lease, (row[:-3] for row in taken)), next_due)

    def remove(self, runs: Sequence[Fence]) -> set[Fence]:
        ids, numbers, leases = map(list, zip(*runs, strict=True))
        removed = self.run(self.REMOVE, {"ids": ids, "runs": numbers, "leases": leases})
        return {(job, run, lease) for job, run, lease in removed}

    def settle(self, rows: Sequence[Settled]) -> set[Fence]:
        settled = self.run(self.SETTLE, {"rows": json.dumps([parameters(row) for row in rows])})
        return {(job, run, lease) for job, run, lease in settled}

    def clear(self, most: int) -> int:
        return len(self.run(self.CLEAR, {"most": most}))

    def tell(self, queue: str) -> None:
        self.run(self.TELL, {"channel": NotifyListener.CHANNEL, "queue": queue})

    def listener(self, notify: bool) -> Listener | None:
        return NotifyListener(self.connection.get_connection_params()) if notify else None

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
        readable = select.select([raw.fileno()], [], [], 0)[0]
        return not readable or self.connection.is_usable()
