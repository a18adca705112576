"""A connection that is kept from run to run: given up where it can do no work, asked where it was idle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections

from tests.programs import wait_for
from tests.project.models import Order
from tinystore_django import Backoff, Queue, Run, Store
from tinystore_django.worker import kept
from tinystore_django.worker.connections import Care, looked_after

pytestmark = pytest.mark.django_db(transaction=True)

SOON = Backoff("1ms", "1ms")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    kept._useless_since.clear()
    yield
    kept._useless_since.clear()
    connection.close()


def raw() -> Any:
    """The driver's connection under Django's."""
    connection.ensure_connection()
    return connection.connection


def fail() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select nothing from nowhere")


def caught() -> None:
    with suppress(DatabaseError):
        fail()


@pytest.mark.parametrize("run", [fail, caught])
def test_after_a_database_error_the_connection_is_replaced(run: Callable[[], None]) -> None:
    before = raw()

    with suppress(DatabaseError), looked_after():
        run()

    assert connection.connection is None or connection.connection is not before


def test_what_went_wrong_before_a_run_is_asked_about_once() -> None:
    before = raw()
    caught()

    with looked_after():
        Order.objects.count()

    assert connection.connection is before


@pytest.mark.once
def test_an_error_of_values_or_constraints_costs_no_connection() -> None:
    before, order = raw(), Order.objects.create(email="ada")

    with suppress(DatabaseError), looked_after():
        Order.objects.create(pk=order.pk, email="ada")

    assert connection.connection is before


def die() -> None:
    """Ends the session of this thread's connection, as a server or a firewall does that finds it idle."""
    if connection.vendor == "sqlite":
        connection.connection.close()
        return
    pid = connection.connection.info.backend_pid

    def end() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("select pg_terminate_backend(%s, 5000)", [pid])
        connections["default"].close()

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()


def test_a_connection_that_dies_before_the_first_query_of_a_run_is_opened_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw()

    with looked_after():
        monkeypatch.setattr(kept, "SEEN", 0.0)
        die()
        assert Order.objects.count() == 0


def test_one_that_dies_before_the_first_transaction_of_a_run_is_opened_anew(
    monkeypatch: pytest.MonkeyPatch, shop: Store
) -> None:
    raw()
    queue = shop.queue("emails", attempts=1)

    with looked_after():
        monkeypatch.setattr(kept, "SEEN", 0.0)
        die()
        queue.set("x", 1)

    assert queue.get("x") is not None


def test_one_that_dies_after_it_is_the_handlers_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    raw()
    monkeypatch.setattr(kept, "SEEN", 0.0)

    with looked_after():
        Order.objects.count()
        die()
        with pytest.raises(DatabaseError if connection.vendor == "postgresql" else Exception):
            Order.objects.count()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each query that only asks whether a connection answers."""
    asked: list[int] = []
    usable = type(connections["default"]).is_usable
    monkeypatch.setattr(
        type(connections["default"]), "is_usable", lambda connection: asked.append(1) or usable(connection)
    )
    return asked


def test_a_connection_that_was_idle_is_asked_once_and_a_busy_one_never(
    asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw()
    care, now = Care(), time.monotonic()

    def runs(count: int, at: float) -> None:
        monkeypatch.setattr(time, "monotonic", lambda: now + at)
        for _ in range(count):
            with care:
                Order.objects.count()
                Order.objects.count()

    runs(5, at=1)
    busy = len(asked)
    runs(5, at=kept.IDLE + 2)
    care.end()

    assert (busy, len(asked)) == (0, 1)


def make_read_only() -> None:
    """As a failover leaves a connection: it answers, and takes no write."""
    raw()
    if connection.vendor == "sqlite":
        connection.connection.execute("pragma query_only = on")
    else:
        connection.connection.execute("set default_transaction_read_only = on")


def write() -> None:
    Order.objects.create(email="ada")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_connection_that_has_become_read_only_costs_one_attempt_in_all_threads(is_async: bool, shop: Store) -> None:
    queue: Queue[str] = shop.queue("emails", str, attempts=2, backoff=SOON, dedupe="1h")
    barrier = threading.Barrier(3)

    def handle(value: str, run: Run) -> None:
        if value == "break":
            make_read_only()
            barrier.wait(30)
        else:
            write()

    async def ahandle(value: str, run: Run) -> None:
        from asgiref.sync import sync_to_async

        await sync_to_async(make_read_only if value == "break" else write)()

    for number in range(3):
        queue.add("break", id=f"break-{number}")
    with queue.work(ahandle if is_async else handle, concurrency=3) as worker:
        wait_for(lambda: worker.settled == 3)
        for number in range(4):
            queue.add("write", id=str(number))
            wait_for(lambda number=number: queue.get(str(number)).state in ("done", "failed"))  # type: ignore[union-attr]

    jobs = [queue.get(str(number)) for number in range(4)]
    assert [job.state for job in jobs if job] == ["done"] * 4
    assert sum(job.attempt for job in jobs if job) <= 5


@pytest.mark.postgresql
def test_a_plan_that_is_kept_of_a_table_that_was_changed_costs_one_attempt() -> None:
    with suppress(DatabaseError), looked_after(), connection.cursor() as cursor:
        cursor.execute("create table kept_plan (a int)")
        cursor.execute("prepare kept_plan as select * from kept_plan")
        cursor.execute("alter table kept_plan add b int")
        cursor.execute("execute kept_plan")
    with connection.cursor() as cursor:
        cursor.execute("drop table kept_plan")

    assert "default" in kept._useless_since


def test_a_refused_write_is_told_to_the_other_threads() -> None:
    care = Care()
    with care:
        before = raw()

    thread = threading.Thread(target=_be_refused)
    thread.start()
    thread.join()
    with care:
        after = raw()
    care.end()

    assert after is not before


def _be_refused() -> None:
    with suppress(DatabaseError), looked_after():
        make_read_only()
        write()
    connection.close()
