"""Drains no-op jobs with one worker, beside a bare loop of the driver on the same server, which claims as many at a
time by an UPDATE and settles them by a DELETE, both in one transaction.

python -m benchmarks.drain [--db sqlite] [--jobs 10000] [--concurrency 10] [--handlers async] [--rounds 5]
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from benchmarks import bench

FILL = """
    insert into tinystore_django_job (queue, value, at, due) select 'noop', 'null', {number}, {number} from {numbers}
"""
NUMBERS = {
    "postgresql": FILL.format(number="n", numbers="generate_series(1, %(jobs)s) n"),
    "sqlite": "with recursive s(n) as (select 1 union all select n + 1 from s where n < %(jobs)s) "
    + FILL.format(number="n", numbers="s"),
}
CLAIM = {
    "postgresql": """
        update tinystore_django_job set state = 1, lease = 1, run = run + 1, attempt = attempt + 1, started_at = 1
        where id = any(array(select id from tinystore_django_job where queue = 'noop' and state = 0 and at <= %(now)s
          order by at, id limit %(n)s for update skip locked)) returning id
    """,
    "sqlite": """
        update tinystore_django_job set state = 1, lease = 1, run = run + 1, attempt = attempt + 1, started_at = 1
        where id in (select id from tinystore_django_job where queue = 'noop' and state = 0 and at <= :now
          order by at, id limit :n) returning id
    """,
}
SETTLE = {
    "postgresql": "delete from tinystore_django_job where id = any(%(ids)s)",
    "sqlite": "delete from tinystore_django_job where id = ?",
}
BEGIN = {"postgresql": "begin", "sqlite": "begin immediate"}


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--handlers", choices=["sync", "async"], default="sync")
    parser.add_argument("--log", action="store_true", help="write the line that each run has in a worker's log")
    chosen = parser.parse_args()
    n = chosen.concurrency
    with bench.project(chosen.db):
        if chosen.log:
            logging.basicConfig(filename="/dev/null", level=logging.INFO)
        declare(chosen.handlers)
        bench.race(
            chosen.rounds,
            f"bare loop, {n} at a time",
            lambda: _rate(chosen.jobs, chosen.db, lambda: _bare(chosen.db, n)),
            {f"worker, {n} {chosen.handlers} handlers": lambda: _rate(chosen.jobs, chosen.db, lambda: work(n))},
        )


def declare(handlers: str = "sync") -> None:
    """Makes the queue of no-ops."""
    from tinystore_django import store

    async def nothing(value: object) -> None:
        pass

    store.queue("noop").handler(nothing if handlers == "async" else lambda value: None)


def fill(jobs: int, db: str) -> None:
    """Adds so many jobs, as a table that has been there for a while has them."""
    with connection.cursor() as cursor:
        cursor.execute(NUMBERS[db], {"jobs": jobs})
        if db == "postgresql":
            cursor.execute("vacuum analyze tinystore_django_job")


def work(concurrency: int) -> None:
    """One worker, until nothing is due."""
    from tinystore_django import Worker, store

    Worker([store.queue("noop")._declaration], concurrency=concurrency, until_idle=True).start().wait()


def _rate(jobs: int, db: str, drain: Callable[[], None]) -> float:
    fill(jobs, db)
    began = time.monotonic()
    drain()
    return jobs / (time.monotonic() - began)


def _bare(db: str, n: int) -> None:
    with bench.raw() as driver:
        ids = turn(driver, db, [], n)
        while ids:
            ids = turn(driver, db, ids, n)


def turn(driver: Any, db: str, ended: list[int], n: int) -> list[int]:
    """Settles what has ended and claims so many, in one transaction: the primary keys of these."""
    driver.execute(BEGIN[db])
    if db == "postgresql":
        driver.execute(SETTLE[db], {"ids": ended})
    else:
        driver.executemany(SETTLE[db], [(one,) for one in ended])
    claimed = driver.execute(CLAIM[db], {"now": time.time_ns() // 1000, "n": n}).fetchall()
    driver.execute("commit")
    return [id for (id,) in claimed]


if __name__ == "__main__":
    main()
