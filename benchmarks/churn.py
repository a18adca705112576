"""Adds, claims and settles a million jobs over a backlog of 20,000, and prints how large the table grows meanwhile.

python -m benchmarks.churn [--jobs 1000000] [--backlog 20000] [--batch 500] [--naptime 5s] [--storage SETTINGS]

The claims and settles are a worker's own, without handlers: autovacuum has as much to do in a minute as in an hour of a
busy site, and wakes the more often, by --naptime, where PostgreSQL's default is a minute. `--storage
"autovacuum_vacuum_cost_delay = 0"` tries other settings of the table of jobs, "default" none.
"""

from __future__ import annotations

import time
from typing import Any

from django.db import connection

from benchmarks import bench

STEPS = 10
ADD = """
    insert into tinystore_django_job (queue, value, at, due)
    select 'noop', to_json(repeat('x', 200)), extract(epoch from now()) * 1e6, 0 from generate_series(1, %(jobs)s)
"""
SIZES = """
    select pg_table_size('tinystore_django_job'), pg_indexes_size('tinystore_django_job'),
      pg_relation_size('tinystore_job_ready'), n_dead_tup, autovacuum_count
    from pg_stat_user_tables where relname = 'tinystore_django_job'
"""
RESET = "alter table tinystore_django_job reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)"


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1_000_000)
    parser.add_argument("--backlog", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--naptime", default="5s")
    parser.add_argument("--storage")
    chosen = parser.parse_args()
    with bench.project("postgresql"):
        _set_up(chosen)
        print(f"{'jobs':>10} {'jobs/s':>8} {'heap MB':>8} {'indexes':>8} {'ready':>8} {'dead':>9} {'vacuums':>8}")
        churn = _Churn(chosen.backlog, chosen.batch)
        for step in range(1, STEPS + 1):
            began = time.monotonic()
            churn.run(chosen.jobs // STEPS)
            _show(chosen.jobs * step // STEPS, chosen.jobs / STEPS / (time.monotonic() - began))


def _set_up(chosen: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("alter system set autovacuum_naptime = %s", [chosen.naptime])
        cursor.execute("select pg_reload_conf()")
        if chosen.storage:
            cursor.execute(RESET)
        if chosen.storage and chosen.storage != "default":
            cursor.execute(f"alter table tinystore_django_job set ({chosen.storage})")


class _Churn:
    def __init__(self, backlog: int, batch: int) -> None:
        from tests.byhand import Hand
        from tinystore_django import Store
        from tinystore_django.databases.rows import Held
        from tinystore_django.lifecycle.floors import Floors

        self.queue: Any = Store().queue("noop", str)
        self.hand, self.floors, self.held = Hand(), Floors(), list[Held]()
        self.batch = batch
        self._add(backlog)

    def run(self, jobs: int) -> None:
        from tinystore_django.lifecycle.aftermath import Ending
        from tinystore_django.lifecycle.asking import Asked
        from tinystore_django.lifecycle.claiming import turn
        from tinystore_django.lifecycle.settling import Finished

        options = self.queue._declaration.options
        for _ in range(jobs // self.batch):
            self._add(self.batch)
            done = [Finished(one, Ending("done"), options) for one in self.held]
            asked = Asked({"noop": self.batch}, floors=self.floors)
            claimed = turn("default", self.hand.lease, done, asked)[1]
            self.held = claimed.held if claimed else []

    def _add(self, jobs: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(ADD, {"jobs": jobs})


def _show(jobs: int, rate: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        heap, indexes, ready, dead, vacuums = cursor.fetchone()
    print(f"{jobs:10,} {rate:8,.0f} {heap / 1e6:8.1f} {indexes / 1e6:8.1f} {ready / 1e6:8.1f} {dead:9,} {vacuums:8}")


if __name__ == "__main__":
    main()
