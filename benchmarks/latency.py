"""From an add in another process to the handler's start on an idle worker, at random intervals.

    python -m benchmarks.latency [--db sqlite] [--jobs 200] [--interval 0.1]

The baseline, in the same run: on PostgreSQL a bare NOTIFY of that process, heard by this one; on SQLite a bare insert
with its commit, seen by this one, which looks at `PRAGMA data_version` each millisecond.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
from django.db import connection

from benchmarks import bench

Add = Callable[[float], object]


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=200)
    parser.add_argument("--interval", type=float, default=0.1, help="the mean time between two adds, in seconds")
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        bare = _beside(_add_bare, chosen, HEARD[chosen.db](chosen.jobs))
        ours = _beside(_add, chosen, _worker(chosen.jobs))
        _show(f"bare {'NOTIFY' if chosen.db == 'postgresql' else 'insert, looked for'}", bare, bare)
        _show("add to the handler's start", ours, bare)


def _show(what: str, lags: list[float], bare: list[float]) -> None:
    p50, p99 = _percentiles(lags)
    ratio = p50 / _percentiles(bare)[0]
    print(
        f"{what:32} p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   p99 / p50 {p99 / p50:5.1f}   p50 {ratio:5.2f} of the bare"
    )


def _percentiles(lags: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(lags, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000


def _beside(adding: Callable[[int, float], None], chosen: Any, heard: Iterator[list[float]]) -> list[float]:
    """What `heard` saw of the adds of another process."""
    next(heard)  # it listens
    process = multiprocessing.get_context("spawn").Process(target=adding, args=(chosen.jobs, chosen.interval))
    process.start()
    lags = next(heard)
    process.join()
    return lags


def _at_random(jobs: int, interval: float, add: Add) -> None:
    for _ in range(jobs):
        time.sleep(random.uniform(0, 2 * interval))
        add(time.monotonic())


# In the other process.


def _add(jobs: int, interval: float) -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()
    from tinystore_django import Store

    _at_random(jobs, interval, Store().queue("latency", float).add)


def _add_bare(jobs: int, interval: float) -> None:
    from benchmarks.settings import DATABASES

    database = DATABASES["default"]
    if "PORT" not in database:
        with closing(sqlite3.connect(database["NAME"], isolation_level=None)) as file:
            file.execute("PRAGMA synchronous=FULL")
            _at_random(jobs, interval, lambda now: file.execute("insert into bare values (?)", [now]))
        return
    with psycopg.connect(_url(database), autocommit=True) as server:
        _at_random(jobs, interval, lambda now: server.execute("select pg_notify('bare', %s)", [str(now)]))


# In this one: each first says that it listens, then gives what it heard.


def _worker(jobs: int) -> Iterator[list[float]]:
    from tinystore_django import Store

    lags: list[float] = []
    queue = Store().queue("latency", float)
    with queue.work(lambda added_at: lags.append(time.monotonic() - added_at)):
        time.sleep(1)  # idle by then
        yield []
        while len(lags) < jobs:
            time.sleep(0.05)
    yield lags


def _notices(jobs: int) -> Iterator[list[float]]:
    with psycopg.connect(_url(connection.settings_dict), autocommit=True) as server:
        server.execute("listen bare")
        yield []
        yield [time.monotonic() - float(notice.payload) for notice in server.notifies(stop_after=jobs)][:jobs]


def _rows(jobs: int) -> Iterator[list[float]]:
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as file:
        file.execute("create table bare (added_at real)")
        lags: list[float] = []
        version = None
        yield []
        while len(lags) < jobs:
            time.sleep(0.001)
            if version != (version := file.execute("PRAGMA data_version").fetchone()):
                rows = file.execute("select added_at from bare where rowid > ?", [len(lags)]).fetchall()
                lags += [time.monotonic() - added_at for (added_at,) in rows]
    yield lags


HEARD = {"postgresql": _notices, "sqlite": _rows}


def _url(database: dict[str, Any]) -> str:
    return f"postgresql://{database['USER']}@{database['HOST']}:{database['PORT']}/{database['NAME']}"


if __name__ == "__main__":
    main()
