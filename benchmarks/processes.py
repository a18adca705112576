"""Drains no-op jobs with `tinystore_work --processes 2` beside one process, and says who used the processors.

    python -m benchmarks.processes [--jobs 20000] [--concurrency 10] [--processes 2]

Where the ratio stays under the number of processes, these show what the limit is: the server's and the workers'
together are what the machine has. It needs Linux's /proc.
"""

from __future__ import annotations

import array
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import bench
from benchmarks.drain import NUMBERS

TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=20_000)
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} processors")
    with bench.project(chosen.db):
        for _ in range(chosen.rounds):
            one = _rate(chosen, 1)
            several = _rate(chosen, chosen.processes)
            bench.show(f"{chosen.processes} processes beside 1", several, one, "one process")


def _rate(chosen: Any, processes: int) -> float:
    with tempfile.TemporaryDirectory() as folder, _workers(folder, chosen, processes) as parent:
        before, server = _used(parent.pid), _used(_server(chosen.db))
        _fill(chosen.db, chosen.jobs)
        began = time.monotonic()
        while _left():
            time.sleep(0.1)
        seconds = time.monotonic() - began
        workers, server = (_used(parent.pid) - before) / seconds, (_used(_server(chosen.db)) - server) / seconds
        parent.send_signal(signal.SIGTERM)
        parent.wait()
        rate = _between(Path(folder))
    bench.show(f"{processes} process{'es' * (processes > 1)}", rate)
    print(f"    processors in use: workers {workers:4.2f}, server {server:4.2f}", flush=True)
    return rate


@contextmanager
def _workers(folder: str, chosen: Any, processes: int) -> Iterator[subprocess.Popen[bytes]]:
    """`tinystore_work` with so many processes, all of them idle."""
    command = [sys.executable, "-m", "django", "tinystore_work", "noop", "--concurrency", str(chosen.concurrency)]
    environment = {"DJANGO_SETTINGS_MODULE": "benchmarks.settings", "TINYSTORE_BENCHMARKS_FOLDER": folder}
    with subprocess.Popen(
        [*command, "--processes", str(processes), "-v", "0"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    ) as parent:
        try:
            while _leases() < processes:
                time.sleep(0.05)
            yield parent
        finally:
            parent.terminate()


def _leases() -> int:
    from tinystore_django.models import Lease

    return Lease.objects.count()


def _fill(db: str, jobs: int) -> None:
    from tinystore_django import Store

    with connection.cursor() as cursor:
        cursor.execute(NUMBERS[db], {"jobs": jobs})
    Store().queue("noop").add(None)  # wakes them all


def _left() -> bool:
    from tinystore_django.models import Job

    return Job.objects.exists()


def _between(folder: Path) -> float:
    """Starts a second, from the moment at which every process had started one."""
    times = [array.array("d", path.read_bytes()) for path in folder.iterdir()]
    began, ended = max(one[0] for one in times), max(one[-1] for one in times)
    return sum(began <= start for one in times for start in one) / (ended - began)


def _server(db: str) -> int | None:
    """The id of the server's first process."""
    if db == "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int")
        return int(cursor.fetchone()[0])


def _used(first: int | None) -> float:
    """The processor seconds of a process and of all below it, those that have ended included."""
    if first is None:
        return 0.0
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            words = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(words[1])
            used[int(stat.parent.name)] = sum(map(int, words[11:15])) / TICKS
    return sum(seconds for pid, seconds in used.items() if _is_below(pid, first, parents))


def _is_below(pid: int, first: int, parents: dict[int, int]) -> bool:
    while pid not in (first, 0):
        pid = parents.get(pid, 0)
    return pid == first


if __name__ == "__main__":
    main()
