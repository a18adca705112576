"""What a run activates or sets is not the next one's, of whichever queue, nor its caller's."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import caches
from django.db import connection, connections
from django.urls import get_urlconf, set_urlconf
from django.utils import timezone, translation

from tests.programs import wait_for
from tests.project.models import Order
from tinystore_django import Store

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]

TENANT = ContextVar("tenant", default="none")


def leave() -> None:
    translation.activate("de")
    timezone.activate("Asia/Tokyo")
    TENANT.set("customer-7")
    decimal.getcontext().prec = 3
    set_urlconf("tests.project.urls_of_nobody")
    wrapper: Any = connections["default"]
    wrapper.schema_name = "customer_7"
    Order.objects.count()


def found() -> list[Any]:
    return [
        translation.get_language(),
        timezone.get_current_timezone_name(),
        TENANT.get(),
        len(str(Decimal(100) / 7)),
        get_urlconf(),
        getattr(connections["default"], "schema_name", None),
    ]


@pytest.fixture
def fresh() -> Iterator[list[Any]]:
    """What there is in a context in which nobody has set anything."""
    yield [*found()[:-1], None]
    connections["default"].__dict__.pop("schema_name", None)
    connection.close()


@pytest.mark.parametrize("threads", [True, False], ids=["worker", "run_due"])
def test_what_a_sync_handler_sets_is_not_the_next_ones(threads: bool, shop: Store, fresh: list[Any]) -> None:
    seen: list[Any] = []

    def handle(value: str) -> None:
        if value == "leaves":
            leave()
        else:
            seen.append(found())

    queue = shop.queue("emails", str, attempts=1)
    queue.add_many(["leaves", "finds"])
    if threads:
        with queue.work(handle, concurrency=1) as worker:
            wait_for(lambda: worker.settled == 2)
    else:
        assert queue.run_due(handle) == 2

    assert seen == [fresh]


@pytest.mark.parametrize("threads", [True, False], ids=["worker", "run_due"])
def test_what_an_async_handler_sets_is_not_the_next_ones(threads: bool, shop: Store, fresh: list[Any]) -> None:
    seen: list[Any] = []

    async def handle(value: str) -> None:
        if value == "leaves":
            translation.activate("de")
            timezone.activate("Asia/Tokyo")
            TENANT.set("customer-7")
            decimal.getcontext().prec = 3
            set_urlconf("tests.project.urls_of_nobody")
        else:
            seen.append(found()[:-1])
            seen.append((await sync_to_async(found)())[:-1])

    queue = shop.queue("emails", str, attempts=1)
    queue.add_many(["leaves", "finds"])
    if threads:
        with queue.work(handle, concurrency=1) as worker:
            wait_for(lambda: worker.settled == 2)
    else:
        assert queue.run_due(handle) == 2

    assert seen == [fresh[:-1]] * 2


def test_what_async_handlers_set_on_a_connection_is_gone_once_none_of_them_runs(shop: Store) -> None:
    seen: list[Any] = []

    async def handle(value: str) -> None:
        if value == "leaves":
            await sync_to_async(leave)()
        else:
            seen.extend(await sync_to_async(found)())

    queue = shop.queue("emails", str, attempts=1)
    queue.add_many(["leaves", "finds"])
    with queue.work(handle, concurrency=1) as worker:
        wait_for(lambda: worker.settled == 2)

    assert seen[-1] is None


def test_run_due_leaves_its_callers_context_as_it_was(shop: Store, fresh: list[Any]) -> None:
    queue = shop.queue("emails", str)
    queue.add("a")
    wrapper: Any = connections["default"]
    wrapper.schema_name = "the_callers"
    with translation.override("fr"), timezone.override("Europe/Paris"):
        before = found()
        queue.run_due(lambda value: leave())

        assert found() == before
    assert connections["default"] is wrapper


def test_a_wrapper_of_a_project_that_was_given_something_goes(shop: Store) -> None:
    wrappers: list[Any] = []

    def handle(value: str) -> None:
        wrappers.append(connections["default"])
        if value == "leaves":
            leave()
        Order.objects.count()

    queue = shop.queue("emails", str, attempts=1)
    queue.add_many(["plain", "leaves", "plain"])
    with queue.work(handle, concurrency=1) as worker:
        wait_for(lambda: worker.settled == 3)

    assert wrappers[0] is wrappers[1]
    assert wrappers[1] is not wrappers[2]


def test_the_runs_of_a_thread_share_its_caches(shop: Store) -> None:
    seen: list[Any] = []
    queue = shop.queue("emails", str, attempts=1)
    queue.add_many(["a", "b"])

    with queue.work(lambda value: seen.append(caches["default"]), concurrency=1) as worker:
        wait_for(lambda: worker.settled == 2)

    assert seen[0] is seen[1]
