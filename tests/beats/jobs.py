"""200 schedules of one to three seconds, each of which writes down every run of every tick."""

from __future__ import annotations

import os
import random
import time

from django.conf import settings

from tinystore_django import Backoff, Run, store
from tinystore_django.timing.clock import from_datetime

PERIODS = {f"beat-{number:03}": 1_000 + number * 10 for number in range(200)}  # milliseconds


def beat(name: str, run: Run) -> None:
    note("start", name, run)
    time.sleep(random.uniform(0, 0.05))
    note("end", name, run)


def note(what: str, name: str, run: Run) -> None:
    """A line of a file that both workers append to: rows would be most of what the database has to do."""
    line = f"{what} {name} {from_datetime(run.at)} {run.attempt} {os.getpid()} {time.time()}\n"
    file = os.open(settings.BEATS_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


def declare(name: str, period: int) -> None:
    schedule = store.schedule(name, every=f"{period}ms", attempts=10, backoff=Backoff("100ms", "100ms"))

    @schedule.handler
    def handle(run: Run) -> None:
        beat(name, run)


for each in PERIODS.items():
    declare(*each)
