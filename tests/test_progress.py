"""set_progress: the latest is shown while the run goes on, ten a second at most, and it costs the handler nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.db import Error, IntegrityError, connection, transaction

from tests.programs import wait_for
from tests.project.models import Order
from tinystore_django import ConflictError, InvalidError, Queue, Run, Store, models
from tinystore_django.lifecycle import stepping

everywhere = pytest.mark.django_db(transaction=True)
in_a_test_case = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails", attempts=1, concurrency=2, timeout="30s")


def progress(queue: Queue[Any]) -> Any:
    job = queue.get("x")
    assert job is not None
    return job.progress


@everywhere
def test_a_worker_writes_the_latest_ten_times_a_second_at_most(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = stepping.report, list[float]()
    monkeypatch.setattr(stepping, "report", lambda *about: (written.append(time.monotonic()), real(*about)))
    ended = threading.Event()
    began = time.monotonic()

    def handler(value: Any, run: Run) -> None:
        while time.monotonic() < began + 0.75:
            run.set_progress(time.monotonic() - began)
        run.set_progress("the last")
        ended.wait(10)

    emails.add("a", id="x")
    with emails.work(handler):
        wait_for(lambda: progress(emails) == "the last")
        seconds = time.monotonic() - began
        ended.set()

    assert 3 <= len(written) <= 2 + 10 * seconds
    assert not models.Progress.objects.exists()


@everywhere
@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.postgresql
def test_a_handler_inside_its_own_transaction_shows_progress_and_never_waits_for_it(
    atomic: bool, emails: Queue[Any]
) -> None:
    seen, ended = [], threading.Event()

    @emails.handler(atomic=atomic)
    def handler(value: Any, run: Run) -> None:
        with transaction.atomic():
            models.Job.objects.select_for_update().get()  # what somebody's `set` would hold
            run.set_progress(50)
            ended.wait(10)

    emails.add("a", id="x")
    with emails.work():
        wait_for(lambda: progress(emails) == 50)
        seen.append(models.Job.objects.get().state)
        ended.set()

    assert seen == [models.Job.State.RUNNING]
    assert not models.Progress.objects.exists()


@everywhere
@pytest.mark.sqlite
def test_a_handler_that_holds_sqlites_lock_does_not_wait_for_its_progress(emails: Queue[Any]) -> None:
    spans = []

    def handler(value: Any, run: Run) -> None:
        with transaction.atomic():
            Order.objects.create(email="a")
            began = time.monotonic()
            for number in range(100):
                run.set_progress(number)
            spans.append(time.monotonic() - began)

    emails.add("a", id="x")
    assert emails.run_due(handler) == 1

    assert spans[0] < 1
    assert not models.Progress.objects.exists()


@everywhere
@pytest.mark.parametrize("how", ["the database is away", "it is back"])
def test_a_database_that_stumbles_costs_the_handler_nothing(
    how: str, emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = stepping.report, [Error("away")] * (1 if how == "it is back" else 100)

    def stumble(*about: Any) -> None:
        if failures:
            raise failures.pop()
        real(*about)

    monkeypatch.setattr(stepping, "report", stumble)
    seen = []

    def handler(value: Any, run: Run) -> None:
        run.set_progress(50)
        wait_for(lambda: progress(emails) == 50 if how == "it is back" else len(failures) < 100)
        seen.append(value)

    emails.add("a", id="x")
    assert emails.run_due(handler) == 1

    assert (seen, emails.get("x")) == (["a"], None)


@in_a_test_case
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("a" * 4095, "progress: 4,097 bytes of JSON; at most 4,096 can be kept"),
        (object(), "progress: JSON has no object"),
        (float("inf"), "progress: "),
        ({"p": "\0"}, "progress['p']: take out U+0000"),
        (["\ud800"], "progress[0]: take out the lone surrogate U+D800"),
    ],
    ids=["long", "object", "infinity", "nul", "surrogate"],
)
def test_progress_that_cannot_be_kept_is_refused_in_the_handler(given: Any, error: str, emails: Queue[Any]) -> None:
    seen: list[Any] = []

    def handler(value: Any, run: Run) -> None:
        run.set_progress("a" * 4094)
        try:
            run.set_progress(given)
        except InvalidError as refused:
            seen.extend((str(refused)[: len(error)], progress(emails)))

    emails.add("a", id="x")
    assert emails.run_due(handler) == 1

    assert seen == [error, "a" * 4094]


@in_a_test_case
def test_in_a_test_case_each_report_is_shown_at_once(emails: Queue[Any]) -> None:
    seen = []

    def handler(value: Any, run: Run) -> None:
        for number in range(3):
            run.set_progress(number)
            seen.append(progress(emails))

    emails.add("a", id="x")
    assert emails.run_due(handler) == 1

    assert seen == [0, 1, 2]
    assert not models.Progress.objects.exists()


@in_a_test_case
def test_in_a_test_case_an_async_handler_shows_progress_too(emails: Queue[Any]) -> None:
    seen = []

    async def handler(value: Any, run: Run) -> None:
        for number in range(2):
            run.set_progress(number)
            await emails.aget("x")  # it is written while the handler waits
            seen.append((await emails.aget("x")).progress)  # type: ignore[union-attr]

    emails.add("a", id="x")
    assert emails.run_due(handler) == 1

    assert (seen, emails.get("x")) == ([0, 1], None)
    assert not models.Progress.objects.exists()


@in_a_test_case
def test_a_transaction_that_the_handler_broke_costs_a_report_nothing(emails: Queue[Any]) -> None:
    Order.objects.create(pk=7, email="ada")
    ran = []

    def handler(value: Any, run: Run) -> None:
        try:
            with transaction.atomic():
                try:
                    Order.objects.create(pk=7, email="twice")
                except IntegrityError:
                    run.set_progress(50)
                    ran.append(connection.needs_rollback)
        except Error:
            ran.append("broken")

    emails.add("a", id="x")
    emails.run_due(handler)

    assert ran[0] is True
    assert not models.Progress.objects.exists()


@everywhere
def test_what_goes_on_after_the_handler_reports_nothing(emails: Queue[Any]) -> None:
    runs: list[Run] = []

    emails.add("a", id="x")
    emails.run_due(lambda value, run: runs.append(run))

    with pytest.raises(ConflictError, match="the run has ended: its handler did not wait for this"):
        runs[0].set_progress(50)
    with pytest.raises(ConflictError, match="the run has ended"):
        runs[0].step("late", int)


@everywhere
def test_a_report_that_crossed_the_settle_of_the_last_run_is_cleared_at_the_workers_end(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def crossing(alias: str, fence: Any, text: str) -> None:
        begun.set()
        wait_for(lambda: not models.Job.objects.exists())
        models.Progress.objects.create(job=fence[0], run=fence[1], progress=text)

    monkeypatch.setattr(stepping, "report", crossing)

    def handler(value: Any, run: Run) -> None:
        run.set_progress(50)
        assert begun.wait(10)

    emails.add("a", id="x")
    with emails.work(handler):
        wait_for(models.Progress.objects.exists)

    assert not models.Progress.objects.exists()
