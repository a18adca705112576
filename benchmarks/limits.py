"""Drains no-op jobs of 100 groups under each limit, beside the same queue without one.

python -m benchmarks.limits [--db sqlite] [--jobs 5000] [--concurrency 10] [--rounds 2]
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks import bench

GROUPS = 100


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        from tinystore_django import Concurrency

        limits: dict[str, dict[str, Any]] = {
            "total": {"concurrency": chosen.concurrency},
            "total and group": {"concurrency": Concurrency(total=chosen.concurrency, group=2)},
            "group": {"concurrency": Concurrency(group=2)},
            "rate": {"rate": "100000/s"},
            "group rate": {"group_rate": "100000/s"},
        }
        for _ in range(chosen.rounds):
            bare = _rate(chosen, {})
            bench.show("unlimited", bare)
            for name, options in limits.items():
                bench.show(name, _rate(chosen, options), bare, "unlimited")


def _rate(chosen: Any, options: dict[str, Any]) -> float:
    from tinystore_django import Store, Worker

    queue = Store().queue("noop", int, **options)
    queue.handler(lambda value: None)
    queue.add_many(range(chosen.jobs), group=lambda number: f"g{number % GROUPS}")
    began = time.monotonic()
    Worker([queue._declaration], concurrency=chosen.concurrency, until_idle=True).start().wait()
    seconds = time.monotonic() - began
    left = sum(1 for _ in queue.all())
    if left:
        raise SystemExit(f"{left} of {chosen.jobs} jobs were not run under {options}")
    return chosen.jobs / seconds


if __name__ == "__main__":
    main()
