"""A worker by hand: a test claims a job, looks about, and says how its run ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from tinystore_django import Job, Queue, Schedule, models
from tinystore_django.databases import database
from tinystore_django.databases.rows import Claimed, Held
from tinystore_django.lifecycle import asides, leasing
from tinystore_django.lifecycle.aftermath import Ending, Kind
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.registry import find
from tinystore_django.timing.clock import from_datetime

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
LEASE = 30_000_000

# What a call may stand in: nothing, or an atomic block (a test's own, where it has no real transactions).
ALONE_OR_IN_A_BLOCK = [
    pytest.param(nullcontext, id="alone", marks=pytest.mark.django_db(transaction=True)),
    pytest.param(transaction.atomic, id="in a block"),
]


def after(**span: float) -> datetime:
    """So long after noon, where the tests' clock starts."""
    return NOON + timedelta(**span)


def us(moment: datetime) -> int:
    return from_datetime(moment)


class RolledBack(Exception):
    """Ends a block that is to be rolled back."""


@contextmanager
def rolled_back(using: str = "default") -> Iterator[None]:
    """An atomic block in which all goes well until its end, where it raises."""
    with suppress(RolledBack), transaction.atomic(using=using):
        yield
        raise RolledBack


def row(**about: Any) -> models.Job:
    return models.Job.objects.get(**about)


def shown(job: Job[Any] | None) -> tuple[Any, ...] | None:
    """What `get` shows of a job, its value first."""
    if job is None:
        return None
    return job.value, job.state, job.at, job.attempt, job.group, job.error, job.last_run is not None


def after_run(queue: Queue[Any], handler: Any) -> Job[Any]:
    """The job "x" after one run of a handler."""
    queue.add("a", id="x")
    assert queue.run_due(handler) == 1
    job = queue.get("x")
    assert job is not None
    return job


def how(job: Job[Any] | None) -> tuple[str, int, str | None] | None:
    """How a job stands: its state, attempt and error."""
    return job and (job.state, job.attempt, job.error)


class Hand:
    """One lease, under which a test holds jobs."""

    def __init__(self, alias: str = "default") -> None:
        self.alias = alias
        self.lease = leasing.take(alias, "by hand", ["emails"], LEASE)

    def take(self, queue: Queue[Any] | Schedule, most: int = 1) -> list[Held]:
        """Claims up to so many due jobs, as far as the queue's limits go."""
        return self.claim(queue, most=most).held

    def claim(self, *queues: Queue[Any] | Schedule, most: int = 1) -> Claimed:
        """One claim of several queues, up to so many jobs of each."""
        options = {queue.name: queue._declaration.options for queue in queues}
        limits = {name: one for name, one in options.items() if one.limited}
        if limits:
            database(self.alias).limits.open(limits)  # as a worker does at its start
        return claim(self.alias, self.lease, {queue.name: most for queue in queues}, limits)

    def take_one(self, queue: Queue[Any] | Schedule) -> Held:
        (held,) = self.take(queue)
        return held

    def end(
        self,
        held: Held,
        kind: Kind = "done",
        error: str | None = None,
        *,
        kept_steps: bool = False,
        reported: bool = False,
        **about: Any,
    ) -> str | None:
        """Settles a run; its outcome, None where the job was no longer its own."""
        declaration = find(self.alias, held.queue)
        assert declaration is not None
        finished = Finished(held, Ending(kind, error, **about), declaration.options, kept_steps, reported)
        outcomes = settle(self.alias, [finished]).outcomes
        asides.ended(self.alias, [held])
        return outcomes.get(held.fence)
