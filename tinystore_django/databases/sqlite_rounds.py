"""What a worker's round asks of SQLite: to claim and to settle. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from ..timing import clock
from .base import Database, held, parameters
from .marking import MARKED
from .rows import Claimed, Count, Fence, Settled, Start
from .sqlite_limits import SQLiteLimits
from .statements import NUMBERS, PARAMETER, Rows


class SQLiteRounds(Database):
    LIMITS = SQLiteLimits

    # The first due time of each queue: an idle worker's only question. Text in place of a time is behind all numbers.
    HEADS = f"""
        select known.value,
          (select at from tinystore_django_job where queue = known.value and state = 0 and at <= {NUMBERS}
            order by at, id limit 1)
        from json_each(%(queues)s) known where {Database.PLAYING.format(queue="known.value")}
    """

    # Asked again: while it waited for the lock, its queue may have been paused.
    CLAIM = f"""
        update tinystore_django_job
        set {MARKED}, started_at = {{now}}
        where id in (select id from tinystore_django_job where queue = %(queue)s and state = 0 and at <= {{now}}
          and {Database.PLAYING.format(queue="%(queue)s")} order by at, id limit %(free)s)
        returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at
    """

    RUNNING = "select count(*) from tinystore_django_job where queue = %(queue)s and state = 1"

    NEXT_DUE = f"""
        select min(at) from (
          select (select at from tinystore_django_job where queue = known.value and state = 0 and at > {{now}}
            and at <= {NUMBERS} order by at limit 1) as at
          from json_each(%(queues)s) known where {Database.PLAYING.format(queue="known.value")})
    """

    # One by one, by the driver: to take a list of them apart costs SQLite more than all of these.
    REMOVAL = "delete from tinystore_django_job where id = %s and run = %s and lease = %s"
    REMOVE = f"{REMOVAL} and {Database.UNTOUCHED}"
    REMOVE_CANCELLED = f"{REMOVAL} and cancelled"

    STAY = """
        select id from tinystore_django_job where (id, run, lease) in (
            select json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
            from json_each(%(runs)s))
        limit 1
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

    def drive(self, sql: str, parameters: dict[str, Any]) -> Rows:
        rows: Rows = self.driver().execute(_named(sql), parameters).fetchall()
        return rows

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
        if not ended:
            return self._claim(lease, wanted, totals or {})
        with self._round():
            removed = self.remove(ended)
            if len(removed) < len(ended) and self.run(self.STAY, {"runs": json.dumps(ended)}):
                return Claimed(clock.now(), removed=removed)
            return replace(self._claim(lease, wanted, totals or {}), removed=removed)

    @contextmanager
    def _round(self) -> Iterator[None]:
        """A transaction of this class's statements alone: by the driver where they are."""
        if self._here.own is None:
            with self.own_transaction():
                yield
        elif (driver := self.driver()).in_transaction:
            yield
        else:
            with self.connection.wrap_database_errors:
                driver.execute("begin immediate")
                with driver:  # commits, or rolls back
                    yield

    def _claim(self, lease: int, wanted: Mapping[str, int], totals: Mapping[str, int]) -> Claimed:
        queues = json.dumps(list(wanted))
        heads = {queue: at for queue, at in self.run(self.HEADS, {"queues": queues}) if at is not None}
        now = clock.now()
        due = [queue for queue, at in heads.items() if at <= now and wanted[queue] > 0]
        if not due:
            return Claimed(now, next_due=min((at for at in heads.values() if at > now), default=None))
        with self._round():
            rows = [row for queue in due for row in self._claim_queue(lease, queue, wanted[queue], totals.get(queue))]
            next_due = self.run(self.NEXT_DUE, {"queues": queues})[0][0]
        return Claimed(now, held(lease, rows), next_due)

    def _claim_queue(self, lease: int, queue: str, free: int, total: int | None) -> Rows:
        if total is not None:
            free = max(0, min(free, total - self.run(self.RUNNING, {"queue": queue})[0][0]))
        return self.run(self.CLAIM, {"lease": lease, "queue": queue, "free": free})

    def remove(self, runs: Sequence[Fence]) -> set[Fence]:
        return self._remove(self.REMOVE, runs)

    def remove_cancelled(self, runs: Sequence[Fence]) -> set[Fence]:
        return self._remove(self.REMOVE_CANCELLED, runs)

    def _remove(self, sql: str, runs: Sequence[Fence]) -> set[Fence]:
        if own := self._here.own:
            with own.wrap_database_errors:
                return _removed(self.driver().cursor(), sql.replace("%s", "?"), runs)
        with self.connection.cursor() as cursor:
            return _removed(cursor, sql, runs)

    def settle(self, rows: Sequence[Settled]) -> set[Fence]:
        return {row.fence for row in rows if self.run(self.SETTLE, parameters(row))}


def _removed(cursor: Any, sql: str, runs: Sequence[Fence]) -> set[Fence]:
    removed = set()
    for fence in runs:
        cursor.execute(sql, fence)
        if cursor.rowcount:
            removed.add(fence)
    return removed


@cache
def _named(sql: str) -> str:
    """A statement with its parameters as the driver writes them."""
    return PARAMETER.sub(r":\1", sql).replace("%%", "%")
