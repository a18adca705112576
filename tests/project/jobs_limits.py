"""Queues with limits, for several workers at once. Their handlers write down when they began and ended."""

from __future__ import annotations

import random
import time

from django.conf import settings

from tests.project.models import Event
from tinystore_django import Backoff, Concurrency, Queue, Run, store
from tinystore_django.lifecycle import counts

SOON = Backoff("20ms", "100ms")
FAILING = 0.15

# Each kind of limit, whose runs fail now and then and are retried until they succeed.
totals = store.queue("totals", int, attempts=1000, backoff=SOON, concurrency=4)
grouped = store.queue("grouped", int, attempts=1000, backoff=SOON, concurrency=Concurrency(total=6, group=2))
rated = store.queue("rated", int, attempts=1000, backoff=SOON, concurrency=Concurrency(group=3), rate="15/300ms")
group_rated = store.queue("group-rated", int, attempts=1000, backoff=SOON, group_rate="4/400ms")
UNSURE = (totals, grouped, rated, group_rated)

# Milliseconds of sleep are their values; below zero they raise. One job of each group at once.
one_by_one = store.queue("one-by-one", int, concurrency=Concurrency(group=1), attempts=2, backoff=Backoff("1h", "1h"))
# The same, and there is no second attempt.
one_chance = store.queue("one-chance", int, concurrency=Concurrency(group=1), attempts=1)
# One at once in all.
singles = store.queue("singles", int, concurrency=1, attempts=2, backoff=Backoff("1h", "1h"))
# Two of each tenant, eight in all.
tenants = store.queue("tenants", int, concurrency=Concurrency(total=8, group=2))
# A rate alone.
paced = store.queue("paced", int, rate="25/400ms")
# Its limits are what the settings say: another process may have others.
deployed = store.queue("deployed", int, **getattr(settings, "DEPLOYED", {}))

# Counts of what runs build on one another from the first on, as they do where a transaction keeps dead entries.
if getattr(settings, "BUILDS_ON_COUNTS", False):
    counts.FEW, counts.SECONDS = -1, counts.LONGEST


def note(what: str, queue: str, run: Run) -> None:
    Event.objects.create(what=what, queue=queue, key=run.id, group=run.group, attempt=run.attempt)


def _handle(queue: Queue[int], failing: float) -> None:
    @queue.handler
    def nap(ms: int, run: Run) -> None:
        note("began", queue.name, run)
        if ms < 0 or random.random() < failing:
            raise ValueError("this time it fails")
        time.sleep(ms / 1000)
        note("ended", queue.name, run)


for one in UNSURE:
    _handle(one, FAILING)
for one in (one_by_one, one_chance, singles, tenants, paced, deployed):
    _handle(one, 0.0)
