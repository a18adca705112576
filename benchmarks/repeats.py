"""Settles ticks among a million repeating jobs, beside ordinary settles in the same table.

    python -m benchmarks.repeats [--jobs 1000000] [--batch 10] [--rounds 200]

The claim before each settle is shown, too. The baseline is the settle of a plain job's retry, in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from benchmarks import bench

# Added in no order, so that neighbours by time lie on different pages; all due within the last hour.
FILL = """
    insert into tinystore_django_job (queue, key, value, repeat, at, due)
    select 'reports', 'report:' || n, 'null', '@every 1h +' || n %% 3600000 || 'ms', at, at
    from (select n, %(now)s - n * 3600000000 / %(jobs)s as at from generate_series(1, %(jobs)s) n
      order by md5(n::text)) s
"""
FILL_PLAIN = """
    insert into tinystore_django_job (queue, key, value, at, due)
    select 'plain', 'plain:' || n, 'null', %(now)s, %(now)s from generate_series(1, %(jobs)s) n
"""


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1_000_000)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args()
    with bench.project("postgresql"):
        _fill(FILL, chosen.jobs)
        _fill(FILL_PLAIN, 2 * chosen.batch * chosen.rounds)
        plain = _measured("plain", "retry", chosen.batch, chosen.rounds)
        done = _measured("plain", "done", chosen.batch, chosen.rounds)
        tick = _measured("reports", "done", chosen.batch, chosen.rounds)
        print(f"{chosen.jobs:,} repeating jobs, {chosen.batch} a settle, medians of {chosen.rounds}")
        for what, (claim, settle) in {"plain, retry": plain, "plain, done": done, "repeating, done": tick}.items():
            ratio = settle / plain[1]
            print(f"{what:20} claim {claim:7.2f} ms   settle {settle:7.2f} ms   {ratio:5.2f} of a retry's settle")


def _fill(sql: str, jobs: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"now": time.time_ns() // 1000, "jobs": jobs})
        cursor.execute("vacuum analyze tinystore_django_job")
        cursor.execute("checkpoint")


def _measured(queue: str, kind: Any, batch: int, rounds: int) -> tuple[float, float]:
    """The medians of a claim's and a settle's time, in ms."""
    from tinystore_django.lifecycle import leasing
    from tinystore_django.lifecycle.aftermath import Ending
    from tinystore_django.lifecycle.claiming import claim
    from tinystore_django.lifecycle.settling import Finished, settle
    from tinystore_django.options import queue_options

    lease = leasing.take("default", "benchmark", [queue], 3_600_000_000)
    # An hour later, so that no round meets a job again.
    ending, options, took = Ending(kind, "no luck", delay=3_600_000_000), queue_options(), []
    for _ in range(rounds):
        claiming, claimed = _timed(lambda: claim("default", lease, {queue: batch}))
        finished = [Finished(held, ending, options) for held in claimed.held]
        assert len(finished) == batch
        settling, _ = _timed(lambda finished=finished: settle("default", finished))
        took.append((claiming, settling))
    return statistics.median(one for one, _ in took), statistics.median(other for _, other in took)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = call()
    return (time.perf_counter() - began) * 1000, answer


if __name__ == "__main__":
    main()
