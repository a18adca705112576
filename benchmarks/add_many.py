"""Adds many jobs in one call, beside a bare COPY of the same values into a plain table on the same server.

python -m benchmarks.add_many [--jobs 20000] [--rounds 5]
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from benchmarks import bench

PLAIN = "create table plain (id bigint generated always as identity primary key, queue text, value text, at bigint)"


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    values = [{"to": f"user{n}@example.com", "subject": "Welcome", "number": n} for n in range(chosen.jobs)]
    with bench.project("postgresql"):
        from tinystore_django import Store

        emails = Store().queue("emails")
        with connection.cursor() as cursor:
            cursor.execute(PLAIN)
        for _ in range(chosen.rounds):
            bare = _rate([json.dumps(value) for value in values], _copy)
            bench.show("COPY into a plain table", bare)
            bench.show("add_many without ids", _rate(values, emails.add_many), bare)
            bench.show("add_many with ids", _rate(values, lambda some: emails.add_many(some, id=_id)), bare)


def _rate(values: list[Any], add: Callable[[list[Any]], object]) -> float:
    with connection.cursor() as cursor:
        cursor.execute("truncate plain, tinystore_django_job")
        cursor.execute("checkpoint")
    began = time.perf_counter()
    add(values)
    return len(values) / (time.perf_counter() - began)


def _copy(values: list[str]) -> None:
    now = time.time_ns() // 1000
    copying = "copy plain (queue, value, at) from stdin"
    with transaction.atomic(), connection.cursor() as cursor, cursor.copy(copying) as copy:
        for value in values:
            copy.write_row(("emails", value, now))


def _id(value: dict[str, Any]) -> str:
    return str(value["to"])


if __name__ == "__main__":
    main()
