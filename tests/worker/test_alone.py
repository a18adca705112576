"""Runs inside an open transaction, which no other thread sees: what their worker's upkeep would do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError

from tests.byhand import how, rolled_back
from tests.programs import other_settings, script
from tests.project.models import Order
from tinystore_django import InvalidError, Queue, Run, RunStopped, Store, models
from tinystore_django.databases import sqlite
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", attempts=2)


def test_a_handler_whose_job_is_cancelled_sees_that_it_is_stopped(emails: Queue[Any]) -> None:
    seen: list[bool] = []
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> None:
        seen.append(run.stopped)
        emails.cancel("x")
        seen.append(run.stopped)

    assert emails.run_due(handler) == 0
    assert seen == [False, True]


@pytest.mark.parametrize(
    "call", [lambda run: run.step("next", lambda: 1), lambda run: run.set_progress(1)], ids=["step", "progress"]
)
def test_it_gets_run_stopped_from_its_next_step_or_report_and_its_job_stays_cancelled(
    call: Callable[[Run], object], emails: Queue[Any]
) -> None:
    got: list[str] = []
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> None:
        emails.cancel("x")
        try:
            call(run)
        except RunStopped as error:
            got.append(str(error))
            raise

    assert emails.run_due(handler) == 0
    assert (got, emails.get("x")) == (["the job was cancelled"], None)
    assert emails.run_due(handler) == 0


def test_an_async_handler_is_cancelled_within_a_second(emails: Queue[Any]) -> None:
    got: list[type[BaseException]] = []
    emails.add("a", id="x")

    async def handler(value: str, run: Run) -> None:
        await emails.acancel("x")
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError as error:
            got.append(type(error))
            raise

    assert emails.run_due(handler) == 0
    assert (got, emails.get("x")) == ([asyncio.CancelledError], None)


def test_an_async_handlers_next_step_is_stopped_at_once(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    async def handler(value: str, run: Run) -> None:
        await emails.acancel("x")
        with pytest.raises(RunStopped):
            await run.step("next", lambda: 1)

    assert emails.run_due(handler) == 0


def test_a_cancel_that_is_rolled_back_stops_nothing(emails: Queue[Any]) -> None:
    seen: list[bool] = []
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> None:
        with rolled_back():
            emails.cancel("x")
            seen.append(run.stopped)
        seen.append(run.stopped)
        run.step("next", lambda: 1)

    assert emails.run_due(handler) == 1
    assert seen == [True, False]


def test_asking_in_a_transaction_that_the_handler_broke_raises_nothing(emails: Queue[Any]) -> None:
    seen: list[bool] = []
    Order.objects.create(pk=7, email="ada")
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> None:
        with suppress(IntegrityError):
            Order.objects.create(pk=7, email="twice")
        seen.append(run.stopped)

    assert emails.run_due(handler) == 1
    assert seen == [False]


@pytest.mark.parametrize("atomic", [True, False])
def test_a_job_cancelled_by_the_handler_of_an_inner_run_is_refused_where_its_own_is_atomic(
    atomic: bool, emails: Queue[Any], shop: Store
) -> None:
    inner, innermost = shop.queue("inner"), shop.queue("innermost")
    seen: list[object] = []
    for queue in (emails, inner, innermost):
        queue.add("a", id="x")

    def cancelling(value: str) -> None:
        assert innermost.cancel("x") is True  # its own, and not atomic
        try:
            seen.append(emails.cancel("x"))
        except InvalidError as error:
            seen.append(str(error))

    def outer(value: str, run: Run) -> None:
        assert inner.run_due(lambda value: innermost.run_due(cancelling)) == 1
        seen.append(run.stopped)

    emails.handler(atomic=atomic)(outer)

    assert emails.run_due() == atomic
    assert seen == (
        ["cancel of 'x' by its own atomic handler: return run.fail(...) instead", False] if atomic else [True, True]
    )
    assert how(emails.get("x")) is None


def test_a_job_cannot_be_cancelled_inside_its_own_atomic_step(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> None:
        with pytest.raises(InvalidError, match=r"by its own atomic step: return run.fail\(...\) instead"):
            run.step("both", lambda: emails.cancel("x"), atomic=True)
        run.step("after it", lambda: emails.cancel("x"))

    assert emails.run_due(handler) == 0
    assert emails.get("x") is None


def test_outside_of_an_atomic_step_it_can(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> None:
        run.step("both", lambda: 1, atomic=True)
        assert emails.cancel("x") is True

    assert emails.run_due(handler) == 0


# A database in memory, as Django makes it for tests: its connections lock each other out.


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("concurrency", [None, 3])
def test_beside_a_database_in_memory_no_thread_is_started(
    concurrency: int | None, emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "file_of", lambda name: None)
    threads: set[str] = set()
    seen: list[bool] = []
    emails.add("a", id="x")
    emails.add("b", id="y")

    def handler(value: str, run: Run) -> None:
        threads.update(thread.name for thread in threading.enumerate())
        run.set_progress(value)
        assert models.Progress.objects.exists()
        if value == "b":
            emails.cancel("y")
            seen.append(run.stopped)

    assert emails.run_due(handler, concurrency=concurrency) == 1
    assert not {"tinystore-upkeep", "tinystore-loop"} & threads
    assert seen == [True]


IN_MEMORY = """
import time
from django.db import connection
from tests.project.models import Mark
from tinystore_django import Store

connection.creation.create_test_db(verbosity=0)
assert connection.is_in_memory_db()
queue = Store().queue("slow", attempts=1)
queue.add_many(range(4), id=str)

def handler(value, run):
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        Mark.objects.create(name=str(value))
        queue.set("later", value, delay="1h")

print("settled", queue.run_due(handler, concurrency={concurrency}))
print("errors", [job.error for job in queue.all(state="failed")])
"""


@pytest.mark.once
@pytest.mark.parametrize("concurrency", [1, 2])
def test_on_the_database_in_memory_of_djangos_own_tests_every_job_ends_well(concurrency: int, tmp_path: Path) -> None:
    databases = 'DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}'
    code = IN_MEMORY.replace("{concurrency}", str(concurrency))

    with script(code, **other_settings(tmp_path, "in_memory", databases)) as program:
        assert program.wait() == 0

    assert (program.said("settled 4"), program.said("errors []")) == (["settled 4"], ["errors []"])
