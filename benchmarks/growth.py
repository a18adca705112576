"""Drains no-op jobs beside a million others that are due later, waiting, or done and kept, and without them.

python -m benchmarks.growth [--db sqlite] [--jobs 5000] [--rows 1000000] [--concurrency 10] [--rounds 3] [--only NAME]

The waiting ones are of the same queue, due after those that are drained; so are the future and the done ones.
"""

from __future__ import annotations

import statistics
from typing import Any

from django.db import connection

from benchmarks import bench

# What the rows of a million others say, beside a queue and a number; `now` is in microseconds, far from their times.
OTHERS = {
    "future": "0, {now} + 86400000000 + n, {now} + 86400000000 + n, null, null, null",
    "waiting": "0, n, n, null, null, null",
    "done": "3, n, n, n, 4000000000000000, 4000000000000000",
}
FILL = """
    insert into tinystore_django_job (queue, value, state, at, due, ended_at, until, kept_until)
    select 'noop', '0', {columns} from {numbers}
"""


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=5_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=list(OTHERS))
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        for name in OTHERS:
            if chosen.only in (None, name):
                _compare(name, chosen)


def _compare(name: str, chosen: Any) -> None:
    alone = [_drained(chosen) for _ in range(chosen.rounds)]
    _fill(name, chosen.rows)
    beside = [_drained(chosen) for _ in range(chosen.rounds)]
    with connection.cursor() as cursor:
        cursor.execute("delete from tinystore_django_job")
    bench.show("alone", statistics.median(alone))
    bench.show(f"beside {chosen.rows:,} {name} jobs", statistics.median(beside), statistics.median(alone), "alone")


def _drained(chosen: Any) -> float:
    bench.tidy()
    # Before all that waits.
    return bench.drained(chosen.jobs, chosen.concurrency, at=bench.LONG_AGO, max_jobs=chosen.jobs)


def _fill(name: str, rows: int) -> None:
    from tinystore_django.timing import clock

    columns = OTHERS[name].format(now=clock.now())
    with connection.cursor() as cursor:
        cursor.execute(bench.numbered(FILL.replace("{columns}", columns)), {"jobs": rows})


if __name__ == "__main__":
    main()
