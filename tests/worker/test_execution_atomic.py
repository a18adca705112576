"""A handler with atomic=True: its rows and its job's end commit together, or neither does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction

from tests.byhand import how, row
from tests.project.models import Order
from tinystore_django import Backoff, InvalidError, Queue, Run, Store, models
from tinystore_django.signals import job_settled, job_started
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def orders(shop: Store) -> Queue[Any]:
    return shop.queue("orders", attempts=2, backoff=Backoff("1m", "1m"))


def run_atomic(orders: Queue[Any], handler: Any) -> int:
    orders.handler(atomic=True)(handler)
    orders.add("a", id="x")
    return orders.run_due()


@pytest.mark.django_db(transaction=True)
def test_an_atomic_handlers_rows_and_its_jobs_end_commit_together(orders: Queue[Any]) -> None:
    seen: list[bool] = []

    def handler(value: str) -> None:
        seen.append(connection.in_atomic_block)
        Order.objects.create(email=value)

    assert run_atomic(orders, handler) == 1
    assert (seen, Order.objects.count(), models.Job.objects.count()) == ([True], 1, 0)


@pytest.mark.parametrize("answer", ["retry", "snooze", "fail"])
@pytest.mark.django_db(transaction=True)
def test_an_atomic_handlers_answer_commits_its_rows(answer: str, orders: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> Any:
        Order.objects.create(email=value)
        return getattr(run, answer)("5m")

    run_atomic(orders, handler)

    assert Order.objects.count() == 1
    assert orders.get("x").state == ("failed" if answer == "fail" else "scheduled")  # type: ignore[union-attr]


@pytest.mark.django_db(transaction=True)
def test_an_atomic_handler_that_raises_leaves_the_failed_attempt_alone(orders: Queue[Any]) -> None:
    def handler(value: str) -> None:
        Order.objects.create(email=value)
        orders.add("with it")
        raise ValueError("no luck")

    assert run_atomic(orders, handler) == 1
    assert not Order.objects.exists()
    assert models.Job.objects.count() == 1
    assert how(orders.get("x")) == ("scheduled", 1, "no luck")


@pytest.mark.django_db(transaction=True)
def test_a_constraint_that_fails_at_the_commit_is_a_failed_attempt(orders: Queue[Any]) -> None:
    def handler(value: str) -> None:
        Permission.objects.create(name="p", codename="p", content_type_id=10**6)

    assert run_atomic(orders, handler) == 1
    assert not Permission.objects.filter(codename="p").exists()
    job = orders.get("x")
    assert job is not None
    assert (job.state, job.attempt) == ("scheduled", 1)
    assert "foreign key" in (job.error or "").lower()


@pytest.mark.django_db(transaction=True)
def test_an_on_commit_callback_that_raises_is_logged_and_the_job_is_done(
    orders: Queue[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise ValueError("a broken callback")

    def handler(value: str) -> None:
        Order.objects.create(email=value)
        transaction.on_commit(broken)

    assert run_atomic(orders, handler) == 1
    assert (Order.objects.count(), orders.get("x")) == (1, None)
    assert "an on_commit callback raised after orders id=x attempt=1 had committed" in caplog.text
    assert "a broken callback" in caplog.text


@pytest.mark.postgresql  # on SQLite nobody else writes while the handler's transaction is open
@pytest.mark.django_db(transaction=True)
def test_a_lease_lost_meanwhile_rolls_an_atomic_handler_back(orders: Queue[Any]) -> None:
    def taken_by_another_worker() -> None:
        models.Job.objects.update(run=5)
        connection.close()

    def handler(value: str) -> None:
        Order.objects.create(email=value)
        thread = threading.Thread(target=taken_by_another_worker)
        thread.start()
        thread.join()

    assert run_atomic(orders, handler) == 0
    assert not Order.objects.exists()
    assert (row().run, row().state) == (5, models.Job.State.RUNNING)


@pytest.mark.django_db(transaction=True)
def test_an_atomic_handler_may_not_cancel_its_own_job_and_may_set_it(orders: Queue[Any], shop: Store) -> None:
    nightly = shop.schedule("nightly", every="1h")

    def handler(value: str) -> None:
        with pytest.raises(InvalidError, match="cancel of 'x' by its own atomic handler: return run.fail"):
            orders.cancel("x")
        assert orders.cancel("another") is False
        orders.set("x", "again", delay="1h")
        Order.objects.create(email=value)

    assert run_atomic(orders, handler) == 1
    assert Order.objects.count() == 1
    assert how(orders.get("x")) == ("scheduled", 0, None)
    assert nightly.cancel() is False


def test_an_atomic_schedules_handler_may_not_cancel_it(shop: Store, clock: Clock) -> None:
    nightly = shop.schedule("nightly", every="1h")
    refused: list[str] = []

    @nightly.handler(atomic=True)
    def handler() -> None:
        try:
            nightly.cancel()
        except InvalidError as error:
            refused.append(str(error))

    nightly.run_due()
    clock.advance("1h")

    assert nightly.run_due() == 1
    assert refused == ["cancel of 'nightly' by its own atomic handler: return run.fail(...) instead"]
    assert nightly.get() is not None


def test_a_handler_that_is_not_atomic_may_cancel_its_own_job(orders: Queue[Any], clock: Clock) -> None:
    orders.add("a", id="x")

    assert orders.run_due(lambda value: orders.cancel("x")) == 0
    assert orders.get("x") is None


@pytest.fixture
def cancelled_at_its_start(orders: Queue[Any]) -> Iterator[list[tuple[str, str | None]]]:
    """Has each job of the queue cancelled between its claim and its handler's first line; how each was settled."""
    settled: list[tuple[str, str | None]] = []

    def cancel(id: str, **about: Any) -> None:
        orders.cancel(id)

    def hear(outcome: str, error: str | None, **about: Any) -> None:
        settled.append((outcome, error))

    job_started.connect(cancel, sender="orders")
    job_settled.connect(hear, sender="orders")
    yield settled
    job_started.disconnect(cancel, sender="orders")
    job_settled.disconnect(hear, sender="orders")


ENDS: Any = [lambda run: None, lambda run: run.snooze("1h"), lambda run: run.fail("no"), lambda run: 1 / 0]


@pytest.mark.parametrize("end", ENDS, ids=["returns", "snoozes", "fails", "raises"])
@pytest.mark.parametrize("block", [nullcontext, transaction.atomic], ids=["alone", "in a block"])
@pytest.mark.django_db(transaction=True)
def test_a_cancelled_job_rolls_an_atomic_handler_back_however_it_ends(
    end: Any, block: Any, orders: Queue[Any], cancelled_at_its_start: list[Any]
) -> None:
    def handler(value: str, run: Run) -> Any:
        Order.objects.create(email=value)
        return end(run)

    with block():
        assert run_atomic(orders, handler) == 0

    assert cancelled_at_its_start == [("cancelled", None)]
    assert not Order.objects.exists()
    assert not models.Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_tells_of_a_cancelled_job_as_that_and_counts_it_as_none(
    orders: Queue[Any], cancelled_at_its_start: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def handler(value: str) -> None:
        Order.objects.create(email=value)

    caplog.set_level(logging.INFO)
    orders.handler(atomic=True)(handler)
    orders.add("a", id="x")

    assert orders.run_due(concurrency=2) == 0
    assert "orders id=x attempt=1 cancelled" in caplog.text
    assert cancelled_at_its_start == [("cancelled", None)]
    assert not Order.objects.exists()


@pytest.mark.postgresql  # on SQLite nobody else writes while the handler's transaction is open
@pytest.mark.django_db(transaction=True)
def test_a_job_cancelled_by_another_while_its_atomic_handler_runs_is_cancelled(
    orders: Queue[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def cancel() -> None:
        orders.cancel("x")
        connection.close()

    def handler(value: str) -> None:
        Order.objects.create(email=value)
        thread = threading.Thread(target=cancel)
        thread.start()
        thread.join()

    assert run_atomic(orders, handler) == 0
    assert not Order.objects.exists()
    assert not models.Job.objects.exists()


def test_in_an_open_transaction_an_atomic_handler_runs_in_savepoints(orders: Queue[Any], clock: Clock) -> None:
    def handler(value: str) -> None:
        Order.objects.create(email=value)
        if value == "a":
            raise ValueError("no luck")

    orders.add("b")

    assert run_atomic(orders, handler) == 2
    assert [order.email for order in Order.objects.all()] == ["b"]
    assert orders.get("x").error == "no luck"  # type: ignore[union-attr]
