"""What SQLite does for a claim of a limited queue: no more for ten times the backlog, or ten times the groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.byhand import Hand
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.testing import Clock

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


def steps(call: Callable[[], object]) -> int:
    """The steps of SQLite's machine that a call takes."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    connection.connection.set_progress_handler(count, 1)
    try:
        call()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return counted


def fill(queue: Queue[Any], backlog: int, groups: int) -> None:
    """One full group's backlog, and then two jobs of each of so many other groups."""
    queue.add_many(range(backlog), group=lambda _: "full")
    queue.add_many(range(2 * groups), group=lambda number: f"g{number % groups}")


@pytest.mark.parametrize("times", [(10, 1), (1, 10)], ids=["backlog", "groups"])
@pytest.mark.parametrize(
    "limits", [{"concurrency": Concurrency(total=9, group=1), "rate": "9/s"}, {"group_rate": "1/s"}], ids=str
)
def test_a_claim_takes_no_more_steps_in_a_longer_queue(
    limits: Any, times: tuple[int, int], shop: Store, hand: Hand, clock: Clock
) -> None:
    short, long = shop.queue("short", int, **limits), shop.queue("long", int, **limits)
    fill(short, 1_000, 100)
    fill(long, 1_000 * times[0], 100 * times[1])
    hand.take(short)
    hand.take(long)

    few, many = steps(lambda: hand.take(short)), steps(lambda: hand.take(long))

    assert 100 < many < 1.2 * few
