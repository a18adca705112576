"""Handlers that take 10 ms, 50 at once, async and sync, beside the ideal: 5,000 a second.

    python -m benchmarks.sleeping [--db sqlite] [--jobs 10000] [--concurrency 50]

A place is empty from the end of one handler to the commit that claims the next job. A bare loop that settles what would
have ended, and claims as many, in one transaction shows how much of the ideal this server's commits leave.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from django.db import connection

from benchmarks import bench
from benchmarks.drain import NUMBERS, turn

TAKES = 0.01


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.add_argument("--concurrency", type=int, default=50)
    chosen = parser.parse_args()
    ideal = chosen.concurrency / TAKES
    with bench.project(chosen.db):
        bench.show(f"ideal, {chosen.concurrency} at once", ideal)
        bench.show("bare loop without handlers", _bare(chosen), ideal, "the ideal")
        for kind, handler in {"async": _asleep, "sync": _sleep}.items():
            bench.show(f"{kind} handlers", _rate(chosen, handler), ideal, "the ideal")


def _bare(chosen: Any) -> float:
    with connection.cursor() as cursor:
        cursor.execute(NUMBERS[chosen.db], {"jobs": chosen.jobs})
    running: deque[tuple[float, int]] = deque()
    began, left = time.monotonic(), chosen.jobs
    with bench.raw() as driver:
        while left:
            ended = []
            while running and running[0][0] <= time.monotonic():
                ended.append(running.popleft()[1])
            claimed = turn(driver, chosen.db, ended, chosen.concurrency - len(running))
            ends_at = time.monotonic() + TAKES
            running.extend((ends_at, id) for id in claimed)
            left -= len(ended)
            if running:
                time.sleep(max(0.0, running[0][0] - time.monotonic()))
    return float(chosen.jobs) / (time.monotonic() - began)


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
