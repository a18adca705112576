"""What a type checker accepts and refuses; mypy's strict mode fails where a wrong use is no longer refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_type

from django.db import transaction

from tinystore_django import Backoff, Concurrency, Job, LastRun, Outcome, Queue, Run, Schedule, Store, Worker, store


@dataclass(frozen=True)
class Email:
    to: str
    subject: str = ""


emails = store.queue("typed-emails", Email, attempts=5, concurrency=4, backoff=Backoff("1s", timedelta(hours=1)))
anything = store.queue("typed-anything", dedupe="1h", concurrency=Concurrency(group=2))
pairs = store.queue("typed-pairs", dict[str, int])
cleanup = store.schedule("typed-cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")
assert_type(emails, Queue[Email])
assert_type(anything, Queue[Any])
assert_type(pairs, Queue[dict[str, int]])
assert_type(cleanup, Schedule)


@emails.handler
def send(email: Email, run: Run) -> Outcome | None:
    if run.stopped:
        return run.snooze("5m")
    return run.retry(datetime.now()) if email.subject else run.fail("no subject")


@cleanup.handler(atomic=True)
def clean(run: Run) -> None:
    assert_type(run.at, datetime)
    assert_type(run.id, str | None)
    assert_type(run.attempt, int)


def right(at: datetime) -> None:
    assert_type(emails.add(Email("ada"), id="x", at=at, group="g"), bool)
    assert_type(emails.update("x", Email("ada"), delay="1h"), bool)
    emails.set("x", Email("ada"), every=timedelta(hours=1))
    assert_type(emails.cancel("x"), bool)
    assert_type(emails.in_(transaction), Queue[Email])
    assert_type(emails.run_due(raises=True), int)
    job = emails.get("x")
    assert_type(job, Job[Email] | None)
    if job:
        assert_type(job.value, Email)
        assert_type(job.at, datetime)
        assert_type(job.last_run, LastRun | None)
    with emails.work(concurrency=2) as worker:
        assert_type(worker, Worker)
    for watched in emails.watch("x", timeout=0.5):
        assert_type(watched, Job[Email])
    anything.add({"any": ["thing"]})
    pairs.add({"a": 1})


async def right_for_coroutines() -> None:
    assert_type(await emails.aadd(Email("ada"), id="x", delay="1h"), bool)
    assert_type(await emails.aget("x"), Job[Email] | None)
    assert_type(await emails.aupdate("x", Email("ada")), bool)
    await emails.aset("x", Email("ada"))
    assert_type(await emails.acancel("x"), bool)
    assert_type(await emails.arun_due(), int)
    async for job in emails.awatch("x", timeout="1m"):
        assert_type(job, Job[Email])
    assert_type(await cleanup.arun_due(), int)


def wrong(job: Job[Email], run: Run) -> None:
    send(Email("ada"))  # type: ignore[call-arg]
    emails.add("ada")  # type: ignore[arg-type]
    emails.add(Email("ada"), dealy="1h")  # type: ignore[call-arg]
    emails.add(Email("ada"), delay=60)  # type: ignore[arg-type]
    emails.add(Email("ada"), at="2026-03-01")  # type: ignore[arg-type]
    emails.add(Email("ada"), id=7)  # type: ignore[arg-type]
    emails.set(Email("ada"), "x")  # type: ignore[arg-type]
    emails.update("x")  # type: ignore[call-arg]
    emails.get(7)  # type: ignore[arg-type]
    pairs.add({"a": "1"})  # type: ignore[dict-item]
    job.state = "done"  # type: ignore[misc]
    run.snooze()  # type: ignore[call-arg]
    run.retry(5)  # type: ignore[arg-type]
    Store(using=3)  # type: ignore[arg-type]
    Concurrency(8)  # type: ignore[call-arg]


async def wrong_for_coroutines() -> None:
    await emails.aadd("ada")  # type: ignore[arg-type]
    await emails.aadd(Email("ada"), dealy="1h")  # type: ignore[call-arg]


def wrongly_declared() -> None:
    store.queue("typed-wrong", Email, atempts=5)  # type: ignore[call-overload]
    store.queue("typed-wrong", Email, attempts="5")  # type: ignore[call-overload]
    store.queue("typed-wrong", Email, concurrency="4")  # type: ignore[call-overload]
    store.schedule("typed-wrong", evry="1h")  # type: ignore[call-arg]
