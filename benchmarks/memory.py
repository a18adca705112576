"""The memory of a worker's process after a tenth of its jobs, and after all of them: 20,000 and 200,000.

python -m benchmarks.memory [--db sqlite] [--jobs 200000] [--concurrency 10]
"""

from __future__ import annotations

import os
import subprocess
import time

from django.db import connection

from benchmarks import bench
from benchmarks.drain import NUMBERS


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=200_000)
    parser.add_argument("--concurrency", type=int, default=10)
    chosen = parser.parse_args()
    with bench.project(chosen.db):
        with connection.cursor() as cursor:
            cursor.execute(NUMBERS[chosen.db], {"jobs": chosen.jobs})
        from tinystore_django import Store, Worker

        queue = Store().queue("noop")
        queue.handler(lambda value: None)
        worker = Worker([queue._declaration], concurrency=chosen.concurrency, until_idle=True).start()
        while worker.settled < chosen.jobs // 10:
            time.sleep(0.02)
        early, jobs = _resident(), worker.settled
        worker.wait()
        late = _resident()
        print(f"after {jobs:9,} jobs {early / 1024:7.1f} MiB")
        print(f"after {worker.settled:9,} jobs {late / 1024:7.1f} MiB   {late / early:5.2f} of the first")


def _resident() -> int:
    """This process's memory in KiB."""
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())]))


if __name__ == "__main__":
    main()
