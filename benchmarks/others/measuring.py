"""What is measured of each compared queue.

    python -m benchmarks.others.procrastinate TASK --url postgresql://... --jobs 10000 --seconds 5

It prints one line of JSON. `benchmarks.compare` starts these, each on a database of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from benchmarks.others.program import WARM_UP, Handler, Program, Rate

# The mean of the random times between two adds to an idle worker, in seconds.
INTERVAL = 0.1
TAKES = 0.01
BULK = 20_000


def main(kind: type[Program]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--url", required=True)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--variant", default="")
    asked = parser.parse_args()
    program = kind(asked.url, asked.variant)
    program.is_async = kind.has_async and asked.task in ("drain-async", "sleeping", "latency", "trickle")
    answer = TASKS[asked.task](program, asked)
    print(json.dumps({**answer, "version": kind.version()}), flush=True)
    # Workers are made to run for ever; what this one still does is of no interest, and its database goes next.
    os._exit(0)


def _install(program: Program, asked: Any) -> dict[str, float]:
    program.install()
    return {}


def _add(program: Program, asked: Any) -> dict[str, float]:
    return _added(program, asked, atomic=False)


def _add_in_a_transaction(program: Program, asked: Any) -> dict[str, float]:
    return _added(program, asked, atomic=True)


def _added(program: Program, asked: Any, *, atomic: bool) -> dict[str, float]:
    rate = Rate(asked.jobs, asked.seconds)
    program.add(rate.values(), atomic=atomic)
    return {"rate": rate.per_second()}


def _add_many(program: Program, asked: Any) -> dict[str, float]:
    if not program.has_bulk:
        return {}
    program.add_many(list(range(100)))
    values = list(range(min(BULK, 2 * asked.jobs)))
    began = time.perf_counter()
    program.add_many(values)
    return {"rate": len(values) / (time.perf_counter() - began)}


def _drain(program: Program, asked: Any) -> dict[str, float]:
    return _worked(program, asked, _noop, 10)


def _drain_async(program: Program, asked: Any) -> dict[str, float]:
    return _worked(program, asked, _anoop, 10) if program.has_async else {}


def _sleeping(program: Program, asked: Any) -> dict[str, float]:
    return _worked(program, asked, _asleep if program.is_async else _sleep, 50)


def _later(program: Program, asked: Any) -> dict[str, float]:
    program.add_later()
    _multiply(program, asked.rows)
    return _drain(program, asked)


def _worked(program: Program, asked: Any, handler: Callable[[Rate], Handler], concurrency: int) -> dict[str, float]:
    program.add_many(list(range(asked.jobs)))
    with psycopg.connect(program.url, autocommit=True) as server:
        server.execute("vacuum analyze")
    rate = Rate(asked.jobs, asked.seconds)
    program.work(handler(rate), concurrency, rate)
    return {"rate": rate.per_second()}


def _noop(rate: Rate) -> Handler:
    return rate.tick


def _anoop(rate: Rate) -> Handler:
    async def run(value: Any) -> None:
        rate.tick()

    return run


def _asleep(rate: Rate) -> Handler:
    async def run(value: Any) -> None:
        rate.tick()
        await asyncio.sleep(TAKES)

    return run


def _sleep(rate: Rate) -> Handler:
    def run(value: Any) -> None:
        rate.tick()
        time.sleep(TAKES)

    return run


def _multiply(program: Program, rows: int) -> None:
    """Makes as many of its one row, on the server: a million adds by some of these take minutes."""
    with psycopg.connect(program.url, autocommit=True) as server:
        found = server.execute(
            "select column_name from information_schema.columns where table_name = %s", [program.table]
        )
        columns = [name for (name,) in found if program.new.get(name) != "default"]
        listed = ", ".join(f'"{name}"' for name in columns)
        values = ", ".join(program.new.get(name, f'job."{name}"') for name in columns)
        # Triggers of theirs would notify and log a million times, which is no part of what is measured here.
        server.execute("set session_replication_role = replica")
        server.execute(
            f"insert into {program.table} ({listed}) select {values} from {program.table} job,"
            f" generate_series(2, {int(rows)})"
        )


def _latency(program: Program, asked: Any) -> dict[str, float]:
    """From an add in another process to the handler's start on an idle worker."""
    jobs = int(min(asked.jobs, 25 * asked.seconds))
    rate = Rate(jobs, 10 * jobs * INTERVAL)
    lags: list[float] = []

    def start(added_at: float) -> None:
        lags.append(time.monotonic() - float(added_at))
        rate.tick()

    async def astart(added_at: float) -> None:
        start(added_at)

    itself = sys.modules["__main__"].__spec__
    assert itself is not None
    command = [sys.executable, "-m", itself.name, "trickle", "--url", program.url, "--jobs", str(jobs)]
    adding = subprocess.Popen([*command, "--variant", program.variant], stdout=subprocess.DEVNULL)
    program.work(astart if program.is_async else start, 10, rate)
    adding.wait()
    cuts = statistics.quantiles(lags[int(len(lags) * WARM_UP) :], n=100, method="inclusive")
    return {"p50": cuts[49] * 1000, "p99": cuts[98] * 1000}


def _trickle(program: Program, asked: Any) -> dict[str, float]:
    program.add(_now_and_then(asked.jobs))
    return {}


def _now_and_then(jobs: int) -> Iterator[float]:
    time.sleep(1)  # the worker is idle by then
    for _ in range(jobs):
        time.sleep(random.uniform(0, 2 * INTERVAL))
        yield time.monotonic()


TASKS = {
    "install": _install,
    "drain": _drain,
    "drain-async": _drain_async,
    "sleeping": _sleeping,
    "add": _add,
    "add-in-a-transaction": _add_in_a_transaction,
    "add-many": _add_many,
    "latency": _latency,
    "later": _later,
    "trickle": _trickle,
}
