"""The connection that async handlers share: when it dies, and when one of them leaves it damaged."""

from __future__ import annotations

import asyncio
import time

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction

from tests.programs import wait_for, worker
from tests.project.jobs import Nap, async_naps
from tests.project.models import End, Mark, Order
from tests.races.helpers import marked, names, once, settled, terminate
from tinystore_django import Store
from tinystore_django.models import Job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.postgresql
def test_async_handlers_go_on_when_the_connection_they_share_is_ended(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.ensure_connection()  # the test's own keeps its name
    monkeypatch.setenv("PGAPPNAME", "tinystore-shared")
    with worker("async-naps", "--concurrency=3") as one:
        one.wait_for_line("runs async-naps")
        async_naps.add(Nap("long", 4.0))  # one is always at work: the loop is never without a run
        for name in names(3):
            async_naps.add(Nap(name))
            wait_for(lambda name=name: End.objects.filter(name=name).exists())
            time.sleep(0.2)
            terminate("tinystore-shared")
        async_naps.add(Nap("last"))
        wait_for(lambda: End.objects.filter(name="last").exists())
        wait_for(lambda: End.objects.filter(name="long").exists())

    assert set(End.objects.values_list("attempt", flat=True)) == {1}


def test_a_transaction_that_an_async_handler_left_open_does_not_swallow_the_next_ones_rows() -> None:
    queue = Store().queue("async-damages", str, attempts=1, concurrency=1, dedupe="1h")

    def leave_open() -> None:
        transaction.set_autocommit(False)
        Order.objects.create(email="half-made")

    async def handle(kind: str) -> None:
        await (sync_to_async(leave_open)() if kind == "broken" else Order.objects.acreate(email=kind))

    for kind in ("broken", "plain"):
        queue.add(kind, id=kind)
    with queue.work(handle):
        assert [settled(queue, kind).state for kind in ("broken", "plain")] == ["done", "done"]

    assert list(Order.objects.values_list("email", flat=True)) == ["plain"]


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("set search_path to nowhere", marks=pytest.mark.postgresql),
        pytest.param("pragma query_only = on", marks=pytest.mark.sqlite),
    ],
)
def test_a_session_that_an_async_handler_changed_is_not_handed_on(statement: str) -> None:
    queue = Store().queue("async-sessions", str, attempts=1, concurrency=1, dedupe="1h")

    def change() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    async def handle(kind: str) -> None:
        await (sync_to_async(change)() if kind == "changing" else Order.objects.acreate(email=kind))

    for kind in ("changing", "plain"):
        queue.add(kind, id=kind)
    with queue.work(handle):
        assert [settled(queue, kind).state for kind in ("changing", "plain")] == ["done", "done"]


def test_async_handlers_write_side_by_side_on_the_connection_they_share() -> None:
    queue = Store().queue("async-side-by-side", str, attempts=1, concurrency=8)
    some = names(60)

    async def handle(name: str) -> None:
        await Mark.objects.acreate(name=name, attempt=1)
        await asyncio.sleep(0)
        assert await Mark.objects.filter(name=name).acount() == 1

    for name in some:
        queue.add(name)
    with queue.work(handle):
        wait_for(lambda: not Job.objects.exists())

    assert marked() == once(some)


def test_no_async_handler_waits_for_what_another_does_in_the_thread_for_sync_code(shop: Store) -> None:
    queue = shop.queue("both", concurrency=2, timeout="1h")
    started: list[str] = []

    @queue.handler
    async def handle(value: str) -> None:
        started.append(value)
        while value == "busy" and "free" not in started:
            await sync_to_async(time.sleep)(1)

    with queue.work():
        queue.add("busy")
        wait_for(lambda: started == ["busy"])
        time.sleep(0.3)  # it is in the thread, and another look at the connections is due
        added = time.monotonic()
        queue.add("free")
        wait_for(lambda: "free" in started)
        waited = time.monotonic() - added

    assert waited < 0.9
