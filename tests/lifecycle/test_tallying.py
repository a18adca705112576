"""The sums of a minute, to which every worker adds its own."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.byhand import Hand, after, us
from tinystore_django import Queue, Store, models
from tinystore_django.databases.rows import Sum
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.clearing import clear
from tinystore_django.lifecycle.tallying import add_up
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def minutes() -> list[tuple[Any, ...]]:
    columns = ("queue", "minute", "started", "failed", "longest_wait")
    return list(models.Minute.objects.order_by("minute", "queue").values_list(*columns))


def test_sums_are_added_and_the_longest_wait_is_the_longest(clock: Clock) -> None:
    add_up("default", [Sum("emails", 2, 1, 500), Sum("parcels", 1, 0, 7)])
    clock.advance("59s")
    add_up("default", [Sum("emails", 3, 0, 400)])
    add_up("default", [Sum("parcels", 0, 1, 9)])

    assert minutes() == [("emails", after(), 5, 1, 500), ("parcels", after(), 1, 1, 9)]


def test_each_minute_has_its_row(clock: Clock) -> None:
    clock.advance("59s")
    add_up("default", [Sum("emails", 1)])
    clock.advance("1s")
    add_up("default", [Sum("emails", 1)])

    assert [row[1] for row in minutes()] == [after(), after(minutes=1)]


def test_all_queues_are_one_statement(clock: Clock) -> None:
    with CaptureQueriesContext(connection) as queries:
        add_up("default", [Sum(f"queue-{number}", 1) for number in range(50)])

    assert len([one for one in queries if "tinystore" in one["sql"]]) == 1
    assert len(minutes()) == 50


def test_minutes_are_cleared_after_a_day(clock: Clock, hand: Hand) -> None:
    add_up("default", [Sum("emails", 1)])
    clock.advance("23h59m59s999ms")
    add_up("default", [Sum("emails", 1)])
    assert clear("default") == 0
    early = leasing.renew("default", hand.lease, 10**12)

    clock.advance("1ms")
    late = leasing.renew("default", hand.lease, 10**12)

    assert early is not None
    assert late is not None
    assert (early.clearable, late.clearable) == (False, True)
    assert clear("default") == 1
    assert [row[1] for row in minutes()] == [after(hours=23, minutes=59)]


def test_minutes_are_cleared_in_batches(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinystore_django.lifecycle.clearing.BATCH", 2)
    models.Minute.objects.bulk_create(models.Minute(queue="q", minute=us(after()) + number) for number in range(3))
    clock.advance("2d")

    assert [clear("default") for _ in range(3)] == [2, 1, 0]


def test_run_due_counts_what_it_started_what_failed_and_how_long_jobs_waited(shop: Store, clock: Clock) -> None:
    queue = shop.queue("emails", attempts=2)

    def handler(fine: bool) -> None:
        if not fine:
            raise ValueError("no")

    queue.add(True)
    queue.add(False)
    clock.advance("5s")
    queue.run_due(handler)

    assert minutes() == [("emails", after(), 2, 1, 5_000_000)]


def test_a_retry_has_waited_since_its_own_time(shop: Store, clock: Clock, hand: Hand) -> None:
    queue: Queue[Any] = shop.queue("emails")
    queue.add("a")
    hand.end(hand.take_one(queue), "retry", "no", delay=60_000_000)
    clock.advance("1m2s")

    assert hand.take_one(queue).waited == 2_000_000


def test_run_due_writes_no_minute_where_nothing_was_due(shop: Store, clock: Clock) -> None:
    shop.queue("emails").run_due(lambda value: None)

    assert minutes() == []
