"""The queues that tests hand to real workers, one a behaviour. Handlers write down what they did, and when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.project import jobs_connections as jobs_connections
from tests.project import jobs_limits as jobs_limits
from tests.project.models import End, Mark, Start
from tinystore_django import Backoff, Run, store


@dataclass(frozen=True)
class Nap:
    """Something that takes its time."""

    name: str
    seconds: float = 0.0


# Its value is the name of the Mark it writes.
marks = store.queue("marks", str)
# The same, in one transaction with the job's being done.
atomic_marks = store.queue("atomic-marks", str)
# Start, a sleep, End.
naps = store.queue("naps", Nap)
# The same by an async handler.
async_naps = store.queue("async-naps", Nap)
# The same, four at once over all.
four_naps = store.queue("four-naps", Nap, concurrency=4)
# Start; a sleep in the first attempt only; End. For workers that die in the middle.
stumbles = store.queue("stumbles", Nap, attempts=3)
# Its only attempt sleeps.
last_chances = store.queue("last-chances", Nap, attempts=1)
# Raises its value, twice.
failures = store.queue("failures", str, attempts=2, backoff=Backoff("100ms", "100ms"))
# Nothing runs it.
unhandled = store.queue("unhandled", str)


@marks.handler
def mark(name: str, run: Run) -> None:
    Mark.objects.create(name=name, attempt=run.attempt)


@atomic_marks.handler(atomic=True)
def mark_atomically(name: str, run: Run) -> None:
    Mark.objects.create(name=name, attempt=run.attempt)


@naps.handler
@four_naps.handler
@last_chances.handler
def nap(value: Nap, run: Run) -> None:
    with noted(value.name, run):
        time.sleep(value.seconds)


@async_naps.handler
async def nap_async(value: Nap, run: Run) -> None:
    await Start.objects.acreate(name=value.name, attempt=run.attempt)
    await asyncio.sleep(value.seconds)
    await End.objects.acreate(name=value.name, attempt=run.attempt)


@stumbles.handler
def stumble(value: Nap, run: Run) -> None:
    with noted(value.name, run):
        time.sleep(value.seconds if run.attempt == 1 else 0.0)


@failures.handler
def fail(text: str, run: Run) -> None:
    Start.objects.create(name=text, attempt=run.attempt)
    raise ValueError(text)


@contextmanager
def noted(name: str, run: Run) -> Iterator[None]:
    """Writes down the start and, unless it is left by a raise, the end."""
    Start.objects.create(name=name, attempt=run.attempt)
    yield
    End.objects.create(name=name, attempt=run.attempt)
