"""Adds many jobs in one call, beside the driver's own COPY of the same values into a plain table on the same server.

python -m benchmarks.add_many [--jobs 20000] [--rounds 9]
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from benchmarks import bench

PLAIN = "create table plain (id bigint generated always as identity primary key, queue text, value text, at bigint)"
COPY = "copy plain (queue, value, at) from stdin"


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    values = [{"to": f"user{n}@example.com", "subject": "Welcome", "number": n} for n in range(chosen.jobs)]
    with bench.project("postgresql"), bench.raw() as driver:
        from tinystore_django import Store

        emails = Store().queue("emails")
        with connection.cursor() as cursor:
            cursor.execute(PLAIN)
        written = [json.dumps(value) for value in values]
        bare = _timed(len(values), lambda: _copy(driver, written))
        ways = {
            "add_many without ids": _timed(len(values), lambda: emails.add_many(values)),
            "add_many with ids": _timed(len(values), lambda: emails.add_many(values, id=_id)),
        }
        bench.race(chosen.rounds, "a bare COPY into a plain table", bare, ways)


def _timed(jobs: int, add: Callable[[], object]) -> Callable[[], float]:
    def rate() -> float:
        with connection.cursor() as cursor:
            cursor.execute("truncate plain, tinystore_django_job")
            cursor.execute("checkpoint")
        began = time.perf_counter()
        add()
        return jobs / (time.perf_counter() - began)

    return rate


def _copy(driver: Any, values: list[str]) -> None:
    now = time.time_ns() // 1000
    with driver.cursor() as cursor, cursor.copy(COPY) as copy:
        for value in values:
            copy.write_row(("emails", value, now))


def _id(value: dict[str, Any]) -> str:
    return str(value["to"])


if __name__ == "__main__":
    main()
