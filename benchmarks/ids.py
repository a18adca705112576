"""What the calls on one id read in a queue of a million waiting jobs, in pages of 8 kB, and how long they take.

    python -m benchmarks.ids [--jobs 1000000]

The baseline is one look at a row by the primary key, in the same run.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from benchmarks import bench

# Added in no order, so that neighbours by id or time lie on different pages.
FILL = """
    insert into tinystore_django_job (queue, key, value, at, due)
    select 'many', 'chat:' || n, '"hello"', n, n from generate_series(1, %s) n order by md5(n::text)
"""
MOST = 150
CALLS = 100


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1_000_000)
    jobs = parser.parse_args().jobs
    with bench.project("postgresql"):
        from tinystore_django import Store, models

        queue = Store().queue("many", str)
        _fill(jobs)
        baseline = _show("one row by its primary key", lambda: models.Job.objects.filter(pk=1).first(), None)
        for what, call in _calls(queue, jobs).items():
            _show(what, call, baseline)


def _fill(jobs: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL, [jobs])
        cursor.execute("checkpoint")
        while not _is_all_visible(cursor):
            time.sleep(0.1)


def _is_all_visible(cursor: Any) -> bool:
    """Vacuums, as the server does by itself in time: what has just been committed may count as new for a moment."""
    cursor.execute("vacuum analyze tinystore_django_job")
    cursor.execute("select relallvisible = relpages from pg_class where relname = 'tinystore_django_job'")
    return bool(cursor.fetchone()[0])


def _calls(queue: Any, jobs: int) -> dict[str, Callable[[], object]]:
    return {
        "get, none ahead": lambda: queue.get("chat:1"),
        "get, 10,000 ahead": lambda: queue.get(f"chat:{jobs}"),
        "add, id free": lambda: queue.add("hello", id="new"),
        "add, id taken": lambda: queue.add("hello", id="chat:7"),
        "set": lambda: queue.set("chat:7", "hello"),
        "update": lambda: queue.update("chat:7", "hello"),
        "cancel": lambda: queue.cancel("chat:7"),
        "a page of 100": queue.list,
        "a page of 100 by prefix": lambda: queue.list(prefix="chat:5"),
        "a page of 100 by prefix and state": lambda: queue.list(prefix="chat:5", state="waiting"),
    }


def _show(what: str, call: Callable[[], object], baseline: float | None) -> float:
    pages, took = _pages(call), _took(call)
    ratio = "" if baseline is None else f"   {took / baseline:6.1f} times the baseline"
    over = "   OVER" if pages >= MOST else ""
    print(f"{what:36} {pages:5} pages {took * 1000:8.2f} ms{ratio}{over}", flush=True)
    return took


def _took(call: Callable[[], object]) -> float:
    """The median of its time, in seconds; what it did is taken back."""
    times = []
    for _ in range(CALLS):
        with transaction.atomic():
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
            transaction.set_rollback(True)
    return statistics.median(times)


def _pages(call: Callable[[], object]) -> int:
    """The pages that all its statements on our tables read."""
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

    with transaction.atomic():
        with connection.execute_wrapper(explain):
            call()
        transaction.set_rollback(True)
    return pages


if __name__ == "__main__":
    main()
