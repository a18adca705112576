"""Drains no-op jobs with one worker, beside a bare loop on the same server: claim 10 by UPDATE, settle 10 by DELETE.

python -m benchmarks.drain [--db sqlite] [--jobs 10000] [--concurrency 10] [--rounds 3]
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import connection, transaction

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
        where id in (select id from tinystore_django_job where queue = 'noop' and state = 0 and at <= %(now)s
          order by at, id limit %(n)s) returning id
    """,
}
SETTLE = "delete from tinystore_django_job where id in ({ids})"


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        for _ in range(chosen.rounds):
            bare = _rate(chosen.jobs, lambda: _bare(chosen.db, chosen.concurrency), chosen.db)
            ours = _rate(chosen.jobs, lambda: _worker(chosen.concurrency), chosen.db)
            bench.show(f"bare loop, {chosen.concurrency} at a time", bare)
            bench.show(f"worker, concurrency {chosen.concurrency}", ours, bare)


def _rate(jobs: int, drain: Callable[[], None], db: str) -> float:
    with connection.cursor() as cursor:
        cursor.execute(NUMBERS[db], {"jobs": jobs})
        if db == "postgresql":
            cursor.execute("vacuum analyze tinystore_django_job")
    began = time.monotonic()
    drain()
    return jobs / (time.monotonic() - began)


def _bare(db: str, n: int) -> None:
    now = time.time_ns() // 1000
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(CLAIM[db], {"now": now, "n": n})
            ids = [row[0] for row in cursor.fetchall()]
            if not ids:
                return
            cursor.execute(SETTLE.format(ids=",".join(map(str, ids))))


def _worker(concurrency: int) -> None:
    from tinystore_django import Store, Worker

    queue = Store().queue("noop")
    queue.handler(lambda value: None)
    worker = Worker([queue._declaration], concurrency=concurrency, until_idle=True).start()
    worker.wait()


if __name__ == "__main__":
    main()
