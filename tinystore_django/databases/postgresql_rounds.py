"""What a worker's round asks of PostgreSQL: to claim and to settle. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from psycopg import ClientCursor
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName
from psycopg.pq import TransactionStatus

from .. import conf
from ..log import logger
from ..timing import clock
from .base import Database, held, parameters
from .marking import MARKED
from .postgresql_counts import WITH_TOTALS, as_counts
from .postgresql_isolation import READ_COMMITTED, is_strict
from .postgresql_kept import kept_by
from .postgresql_limits import PostgreSQLLimits
from .rows import BEGINNING, Claimed, Count, Fence, Settled, Start
from .statements import Rows

POOLED = (
    "the database's session does not keep what is prepared in it, as behind a transaction pooler: set NOTIFY to False"
)


class PostgreSQLRounds(Database):
    LIMITS = PostgreSQLLimits

    _keeps = True  # until a session has forgotten a statement

    # Neither this nor SETTLE says state = 1: the planner would walk the running index, which is full of dead
    # entries under load. SKIP LOCKED: one user's open `set` must not hold up a whole round. A lateral, since a join is
    # planned as a walk of all jobs where the statistics say that there are none.
    REMOVAL = """
        ended as materialized (
          select found.* from unnest(%(ids)s::bigint[], %(runs)s::int[], %(leases)s::bigint[]) done(id, run, lease)
          cross join lateral (
            select id, {goes} as goes from tinystore_django_job job
            where job.id = done.id and job.run = done.run and job.lease = done.lease for update skip locked) found),
        removed as (
          delete from tinystore_django_job where id = any(array(select id from ended where goes))
          returning id, run, lease)
    """
    REMOVED = REMOVAL.format(goes=Database.UNTOUCHED)

    WANTED = """unnest(%(queues)s::text[], %(ats)s::bigint[], %(after)s::bigint[], %(free)s::int[])
              wanted(queue, at, id, free)"""

    # A worker's whole round in one statement, and so in one trip and one commit. The ORM has no UPDATE of a
    # limited, locked, ordered selection with RETURNING. array(...) is evaluated once, so that the rows are found
    # by their primary key and never more of them than the limit. What was removed is said in the first row alone: in
    # each, a round of a hundred would read ten thousand fences.
    CLAIM = f"""
        with {REMOVED},
        claimed as (
          update tinystore_django_job job
          set {MARKED}, started_at = {{now}}
          where id = any(array(
            select head.id
            from {WANTED}
            cross join lateral (
              select id from tinystore_django_job job where job.queue = wanted.queue and state = 0
                and job.at <= {{now}} and (job.at, job.id) >= (wanted.at, wanted.id)
              order by job.at, job.id limit wanted.free for update skip locked) head
            where {Database.PLAYING.format(queue="wanted.queue")} and not exists (select from ended where not goes)))
          returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at)
        select {{now}}, {LIMITS.ENTRIES} - always.entries, (
            select min(head.at) from unnest(%(queues)s::text[]) known(queue)
            cross join lateral (
              select at from tinystore_django_job where queue = known.queue and state = 0 and at > {{now}}
              order by at limit 1) head
            where {Database.PLAYING.format(queue="known.queue")}),
          case row_number() over () when 1 then array(select array[id, run, lease] from removed) end, 0, null, claimed.*
        from (select {LIMITS.ENTRIES} as entries) always left join claimed on true
    """

    # The same with a bound on what runs; without the row that was to be locked, nothing can be counted.
    CLAIM_WITH_TOTALS = (
        CLAIM.replace("claimed as (", f"{WITH_TOTALS} claimed as (")
        .replace(WANTED, "wanted left join counted on counted.queue = wanted.queue")
        .replace(
            "limit wanted.free",
            """limit case
          when wanted.total is null then wanted.free
          when not exists (select 1 from tinystore_django_queue where name = wanted.queue) then 0
          else greatest(0, least(wanted.free, wanted.total - counted.count)) end""",
        )
        .replace("started_at = {now}", "started_at = (select now from instant)")
        .replace("select {now},", "select (select now from instant),")
        .replace("as entries)", f"as entries, {LIMITS.COUNTED} as counted)")
        .replace(
            "0, null, claimed.*",
            f"""{LIMITS.COUNTED} - always.counted, case row_number() over () when 1
            then (select json_object_agg(queue, old)::text from counted) end, claimed.*""",
        )
    )

    REMOVE = f"with {REMOVED} select id, run, lease from removed"

    REMOVE_CANCELLED = f"with {REMOVAL.format(goes='cancelled')} select id, run, lease from removed"

    SETTLE = """
        with settled as materialized (
          select done.* from jsonb_to_recordset(%(rows)s::jsonb) done(id bigint, run int, lease bigint,
            seen_next bigint, seen_repeat text, state smallint, attempt int, at bigint, due bigint, "group" text,
            error text, traceback text, keep_error bool, released bool, ended_at bigint, until bigint,
            kept_until bigint, last_started_at bigint, last_ended_at bigint)
          cross join lateral (
            select from tinystore_django_job job
            where job.id = done.id and job.run = done.run and job.lease = done.lease and not job.cancelled
              and job.next_at is not distinct from done.seen_next
              and job.repeat is not distinct from done.seen_repeat
            for update skip locked) found)
        update tinystore_django_job job set state = settled.state, attempt = settled.attempt,
          at = coalesce(settled.at, job.at), due = settled.due, "group" = settled."group",
          error = case when settled.keep_error then job.error else settled.error end,
          traceback = case when settled.keep_error then job.traceback else settled.traceback end,
          released = settled.released, ended_at = settled.ended_at, until = settled.until,
          kept_until = settled.kept_until,
          last_started_at = coalesce(settled.last_started_at, job.last_started_at),
          last_ended_at = coalesce(settled.last_ended_at, job.last_ended_at),
          lease = null, started_at = null, next_at = null, next_group = null
        from settled where job.id = any(array(select id from settled)) and job.id = settled.id
        returning settled.id, settled.run, settled.lease
    """

    def run_all(self, statements: Sequence[str], parameters: dict[str, Any]) -> list[Rows]:
        """In one trip, where the driver puts the parameters in itself. Each statement has a snapshot of its own, and
        together they are one transaction."""
        bound = {**parameters, "now": clock.now()}
        timed = [self.timed(sql) for sql in statements]
        if own := self._here.own:
            with own.wrap_database_errors:
                return self.drive_all(timed, bound)
        features: Any = self.connection.features
        if features.uses_server_side_binding:
            with self.transaction():
                return super().run_all(statements, parameters)
        with self.connection.cursor() as cursor:
            cursor.execute(";".join(timed), bound)
            return _answers(cursor)

    def drive(self, sql: str, parameters: dict[str, Any]) -> Rows:
        return self.drive_all([sql], parameters)[0]

    def drive_all(self, statements: Sequence[str], parameters: dict[str, Any]) -> list[Rows]:
        """The same by the driver, whose session keeps the statements prepared, if it may keep anything."""
        session = self.driver()
        cursor = ClientCursor(session)
        if session.autocommit and is_strict(session):
            return self._drive([READ_COMMITTED, *statements], parameters, cursor)[1:]
        return self._drive(statements, parameters, cursor)

    def _drive(self, statements: Sequence[str], parameters: dict[str, Any], cursor: ClientCursor) -> list[Rows]:
        session = cursor.connection
        if self._keeps and conf.notify():
            try:
                return _answers(cursor.execute(";".join(kept_by(session).calls(cursor, statements)), parameters))
            except (InvalidSqlStatementName, DuplicatePreparedStatement):
                self._keeps = False
                logger.warning("%s", POOLED)
                if session.info.transaction_status != TransactionStatus.IDLE:
                    raise  # what the transaction did before is undone
        return _answers(cursor.execute(";".join(statements), parameters))

    def claim(
        self,
        lease: int,
        wanted: Mapping[str, int],
        ended: Sequence[Fence] = (),
        totals: Mapping[str, int] | None = None,
        lets_go: bool = False,
        starts: Mapping[str, Start] | None = None,
        counts: Mapping[str, Count] | None = None,
    ) -> Claimed:
        bounds = [(totals or {}).get(queue) for queue in wanted]
        asked = {"lease": lease, "queues": list(wanted), "free": list(wanted.values()), "totals": bounds}
        begins = [(starts or {}).get(queue, BEGINNING) for queue in wanted]
        asked |= {"ats": [start.at for start in begins], "after": [start.id for start in begins]}
        asked |= as_counts(wanted, counts or {})
        asked |= _fences(ended)
        if totals:
            return self._claim_with_totals(asked | {"names": json.dumps(list(totals))}, totals, lets_go)
        return _claimed(lease, self.run(self.CLAIM, asked))

    def _claim_with_totals(self, asked: dict[str, Any], totals: Mapping[str, int], lets_go: bool) -> Claimed:
        # What ended must not count any more, and the locks stand before the counts: each a statement of its own. The
        # server goes through them to the end, so that a worker that is stopped meanwhile holds no lock; in a
        # transaction that goes on, it must be told.
        before = [self.LIMITS.HASTE] if not self.in_transaction() else self.LIMITS.LET_GO if lets_go else ()
        answers = self.run_all([*before, self.REMOVE, *self.LIMITS.LOCK, self.CLAIM_WITH_TOTALS], asked)
        claimed = replace(_claimed(asked["lease"], answers[-1]), removed=_as_fences(answers[len(before)]))
        if missing := totals.keys() - {name for (name,) in answers[-2]}:  # somebody deleted them by hand
            self.limits.open(sorted(missing))
            return replace(claimed, next_due=claimed.now, floored=True)
        return claimed

    def remove(self, runs: Sequence[Fence]) -> set[Fence]:
        return _as_fences(self.run(self.REMOVE, _fences(runs)))

    def remove_cancelled(self, runs: Sequence[Fence]) -> set[Fence]:
        return _as_fences(self.run(self.REMOVE_CANCELLED, _fences(runs)))

    def settle(self, rows: Sequence[Settled]) -> set[Fence]:
        return _as_fences(self.run(self.SETTLE, {"rows": json.dumps([parameters(row) for row in rows])}))


def _answers(cursor: Any) -> list[Rows]:
    answers = [cursor.fetchall() if cursor.description else []]
    while cursor.nextset():
        answers.append(cursor.fetchall() if cursor.description else [])
    return answers


def _claimed(lease: int, rows: Rows) -> Claimed:
    now, entries, next_due, removed, counted, old, *_ = rows[0]
    taken = [row[6:] for row in rows if row[6] is not None]
    return Claimed(
        now, held(lease, taken), next_due, _as_fences(removed), entries, counted=counted, old=json.loads(old or "{}")
    )


def _fences(runs: Sequence[Fence]) -> dict[str, list[int]]:
    ids, numbers, leases = map(list, zip(*runs, strict=True)) if runs else ([], [], [])
    return {"ids": ids, "runs": numbers, "leases": leases}


def _as_fences(rows: Iterable[Sequence[int]]) -> set[Fence]:
    return {(job, run, lease) for job, run, lease in rows}
