"""Handlers that take 10 ms, 50 at once, async and sync, beside the ideal: 5,000 a second.

python -m benchmarks.sleeping [--db sqlite] [--jobs 10000] [--concurrency 50]
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from benchmarks import bench

TAKES = 0.01


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.add_argument("--concurrency", type=int, default=50)
    chosen = parser.parse_args()
    ideal = chosen.concurrency / TAKES
    with bench.project(chosen.db):
        bench.show(f"ideal, {chosen.concurrency} at once", ideal)
        for kind, handler in {"async": _asleep, "sync": _sleep}.items():
            bench.show(f"{kind} handlers", _rate(chosen, handler), ideal, "the ideal")


async def _asleep(value: int) -> None:
    await asyncio.sleep(TAKES)


def _sleep(value: int) -> None:
    time.sleep(TAKES)


def _rate(chosen: Any, handler: Callable[[int], Any]) -> float:
    from tinystore_django import Store, Worker

    queue = Store().queue("sleeping", int)
    queue.handler(handler)
    queue.add_many(range(chosen.jobs))
    began = time.monotonic()
    Worker([queue._declaration], concurrency=chosen.concurrency, until_idle=True).start().wait()
    return float(chosen.jobs) / (time.monotonic() - began)


if __name__ == "__main__":
    main()
