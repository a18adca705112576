"""What one claim and settle take while a full group's backlog of a million jobs comes first, and with 10,000 groups.

python -m benchmarks.groups [--db sqlite] [--jobs 1000000]

It prints the pages of 8 kB that PostgreSQL reads for one claim, which are to be under 200, and the milliseconds that it
takes on SQLite, which are to be under 5.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from benchmarks import bench

# One job of the full group runs; the ready ones are the first of the others.
NUMBERS = "with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < %s)"
BACKLOG = f"""
    insert into tinystore_django_job (queue, "group", value, at, due, state)
    {NUMBERS}
    select 'backlog', case when n <= %s - 10000 then 'full' else 'g' || (n %% 1000) end, '1', n, n,
      case when n = 1 or (n > %s - 10000 and n <= %s - 9000) then 0 else 4 end from numbers
"""
GROUPS = f"""
    insert into tinystore_django_job (queue, "group", value, at, due, state)
    {NUMBERS}
    select 'groups', 'g' || (n %% 10000), '1', n, n, case when n <= 10000 then 0 else 4 end from numbers
"""
PAGES, MS = 200, 5.0
CALLS = 50


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1_000_000)
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        from tinystore_django import Concurrency, Store

        store = Store()
        for name, sql in {"backlog": BACKLOG, "groups": GROUPS}.items():
            _fill(sql, chosen.jobs)
            _show(store.queue(name, int, concurrency=Concurrency(group=1)), chosen.db)


def _fill(sql: str, jobs: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, [jobs] * sql.replace("%%", "").count("%s"))
        cursor.execute("vacuum analyze tinystore_django_job" if connection.vendor == "postgresql" else "analyze")


def _show(queue: Any, db: str) -> None:
    from tests.byhand import Hand

    hand = Hand()
    hand.take(queue)  # the first of the full group
    took = [_timed(lambda: [hand.end(one) for one in hand.take(queue)]) for _ in range(CALLS)]
    ms = statistics.median(took) * 1000
    print(f"{queue.name:10} claim and settle {ms:8.2f} ms{_over(db == 'sqlite' and ms >= MS)}", flush=True)
    if db == "postgresql":
        pages = _pages(lambda: hand.take(queue))
        print(f"{queue.name:10} claim            {pages:5} pages{_over(pages >= PAGES)}", flush=True)


def _over(is_over: bool) -> str:
    return "   OVER" if is_over else ""


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _pages(call: Callable[[], object]) -> int:
    """The pages that all its statements read, sent one at a time: the server explains only one of several."""
    from tinystore_django.databases.base import Database
    from tinystore_django.databases.postgresql import PostgreSQL

    pages = 0

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal pages
        if "tinystore_django_" in sql:
            with transaction.atomic():
                execute(f"explain (analyze, buffers, format json) {sql}", params, many, context)
                answer = context["cursor"].fetchone()[0]
                transaction.set_rollback(True)
            plan = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
            pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return execute(sql, params, many, context)

    together, PostgreSQL.run_all = PostgreSQL.run_all, Database.run_all  # type: ignore[method-assign]
    try:
        with transaction.atomic(), connection.execute_wrapper(explain):
            call()
    finally:
        PostgreSQL.run_all = together  # type: ignore[method-assign]
    return pages


if __name__ == "__main__":
    main()
