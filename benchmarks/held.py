"""Drains no-op jobs while a transaction stays open elsewhere, over so many jobs churned since, beside without one.

python -m benchmarks.held [--db sqlite] [--jobs 5000] [--churned 100000] [--concurrency 10] [--rounds 2] [--only NAME]

On PostgreSQL such a transaction keeps the dead rows of all jobs that have run since it began, and their entries in
every index; on SQLite the WAL file grows. Each kind of queue is compared with itself without the transaction.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

from benchmarks import bench

GROUPS = 100


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=5_000)
    parser.add_argument("--churned", type=int, default=100_000)
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only")
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        for name, options in _kinds(chosen.concurrency).items():
            if chosen.only in (None, name):
                _compare(name, options, chosen)


def _kinds(concurrency: int) -> dict[str, dict[str, Any]]:
    from tinystore_django import Concurrency

    return {
        "unlimited": {},
        "total": {"concurrency": concurrency},
        "rate": {"rate": "100000/s"},
        "group": {"concurrency": Concurrency(group=2)},
    }


def _compare(name: str, options: dict[str, Any], chosen: Any) -> None:
    ratios = []
    for _ in range(chosen.rounds):
        free = _drained(options, chosen)
        with _held():
            bench.churn(chosen.churned)
            held = _drained(options, chosen)
        ratios.append(held / free)
        bench.show(name, free)
        bench.show(f"{name}, a transaction held open", held, free, "the rate without")
    print(f"{name}: median {statistics.median(ratios):.2f}", flush=True)


def _drained(options: dict[str, Any], chosen: Any) -> float:
    bench.tidy()
    return bench.drained(chosen.jobs, chosen.concurrency, groups=GROUPS, **options)


@contextmanager
def _held() -> Iterator[None]:
    """A transaction on a connection of its own that has read something, and goes on."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("begin" if other.vendor == "sqlite" else "begin isolation level repeatable read")
            cursor.execute("select count(*) from tinystore_django_lease")
            cursor.fetchall()
            yield
            cursor.execute("rollback")
    finally:
        other.close()


if __name__ == "__main__":
    main()
