"""1,000 watchers of 1,000 jobs in one process: its connections and queries, idle and while a worker runs the jobs.

    python -m benchmarks.watching [--db sqlite] [--jobs 1000] [--seconds 5]

The baseline is each watcher asking `get` five times a second for itself.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from typing import Any

from benchmarks import bench


class Asked(Counter[str]):
    """Counts the queries of all of Django's connections, by whether they are of the thread that watches."""

    def __call__(self, execute: Any, sql: str, *rest: Any) -> Any:
        self["watching" if threading.current_thread().name == "tinystore-watching" else "others"] += 1
        return execute(sql, *rest)


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1000)
    parser.add_argument("--seconds", type=float, default=5.0)
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        asyncio.run(_watched(chosen.db, chosen.jobs, chosen.seconds))


async def _watched(db: str, jobs: int, seconds: float) -> None:
    from django.db.backends.signals import connection_created

    from tinystore_django import Backoff, Store

    asked = Asked()
    connection_created.connect(lambda connection, **about: connection.execute_wrappers.append(asked), weak=False)
    queue = Store().queue("watched", int, concurrency=4, backoff=Backoff("1s", "1s"))
    await queue.aadd_many(range(jobs), id=str, delay="1h")
    baseline = await _rate_of_gets(queue)

    reports: Counter[str] = Counter()
    watching = [asyncio.create_task(_count(queue, str(number), reports)) for number in range(jobs)]
    while reports["scheduled"] < jobs:
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)
    await _measure("idle", db, asked, seconds)
    await asyncio.to_thread(_make_due)
    await asyncio.sleep(1.5)
    await _measure(f"with {jobs:,} jobs waiting", db, asked, seconds)
    worker = await asyncio.to_thread(queue.work, _run)
    await _measure("with a worker in this process", db, asked, seconds)
    began = time.monotonic()
    await asyncio.gather(*watching)
    took = time.monotonic() - began + seconds
    await asyncio.to_thread(worker.stop)
    await asyncio.sleep(0.5)  # for the thread that watched to end
    print(f"all {jobs:,} watches ended {took:.1f} s after the worker's start, {sum(reports.values()):,} reports in all")
    print(f"baseline: {jobs:,} watchers that each ask `get` five times a second: {5 * jobs:,} queries/s")
    print(f"          one connection manages {baseline:,.0f} of them")


async def _rate_of_gets(queue: Any) -> float:
    from django.db import connection

    def rate() -> float:
        began = time.monotonic()
        for number in range(500):
            queue.get(str(number))
        took = time.monotonic() - began
        connection.close()
        return 500 / took

    return await asyncio.to_thread(rate)


async def _count(queue: Any, id: str, reports: Counter[str]) -> None:
    async for job in queue.awatch(id):
        reports[job.state] += 1


async def _measure(what: str, db: str, asked: Asked, seconds: float) -> None:
    before, cpu = asked["watching"], time.process_time()
    await asyncio.sleep(seconds)
    queries, cpu = (asked["watching"] - before) / seconds, (time.process_time() - cpu) / seconds
    held = f", {await asyncio.to_thread(_sessions)}" if db == "postgresql" else ""
    print(f"{what:32} {queries:5.1f} queries/s, {100 * cpu:3.0f} % of a processor in this process{held}", flush=True)


def _sessions() -> str:
    """The connections of this process to the server, but the one that asks."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*), count(*) filter (where query ilike 'listen%%') from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        total, listening = cursor.fetchone()
    connection.close()
    return f"{total} connections, {listening} of them listening"


def _make_due() -> None:
    from tinystore_django.models import Job

    Job.objects.update(at=time.time_ns() // 1000, due=time.time_ns() // 1000)


def _run(value: int, run: Any) -> None:
    run.set_progress(0.5)
    time.sleep(0.02)


if __name__ == "__main__":
    main()
