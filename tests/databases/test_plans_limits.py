"""What a claim of a limited queue reads: little, however large a full group's backlog and however many groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.byhand import Hand
from tests.databases.test_plans import explained
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.databases import database
from tinystore_django.databases.base import Database
from tinystore_django.databases.postgresql import PostgreSQL

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MOST = 200  # pages of 8 kB, read for one claim of one job
# One job of a group runs; all the others of it come first in time, and then ten of each of a thousand groups.
BACKLOG = """
    insert into tinystore_django_job (queue, "group", value, at, due, state)
    select 'emails', case when n <= 90000 then 'full' else 'g' || n % 1000 end, '1', n, n,
      case when n = 1 or n > 99000 then 0 when n <= 90000 or n > 91000 then 4 else 0 end
    from generate_series(1, 100000) n
"""
GROUPS = """
    insert into tinystore_django_job (queue, "group", value, at, due, state)
    select 'emails', 'g' || n % 10000, '1', n, n, case when n <= 10000 then 0 else 4 end
    from generate_series(1, 100000) n
"""
LIMITS: list[dict[str, Any]] = [
    {"concurrency": Concurrency(group=1)},
    {"concurrency": Concurrency(total=50, group=1), "rate": "1000/s"},
    {"group_rate": "1/h"},
]


@pytest.fixture(autouse=True)
def one_statement_a_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server explains only one of several."""
    store = database("default")
    monkeypatch.setattr(PostgreSQL, "run_all", Database.run_all)
    monkeypatch.setattr(store.limits, "_run_all", store.run_all)


def check(call: Callable[[], object], least: int) -> None:
    plans = explained(call)

    said = [(plan.pages, plan.indexes, plan.sql) for plan in plans]
    assert len(plans) >= least, said
    assert sum(plan.pages for plan in plans) < MOST, said
    assert not any("tinystore_django_job" in plan.scanned for plan in plans), said


def fill(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        cursor.execute("vacuum analyze tinystore_django_job")


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("backlog", [BACKLOG, GROUPS], ids=["a full group's backlog first", "ten thousand groups"])
def test_claims_and_adds_read_a_few_pages(backlog: str, limits: Any, shop: Store) -> None:
    emails: Queue[Any] = shop.queue("emails", int, **limits)
    fill(backlog)
    hand = Hand()
    hand.take(emails, 2)  # the full group's first among them
    started: list[str | None] = []

    check(lambda: started.extend(one.group for one in hand.take(emails)), 6)
    check(lambda: emails.add(1, group="full"), 1)
    check(lambda: emails.add(1, group="new"), 1)
    check(lambda: emails.add(1, group="g5"), 1)

    assert started[0] not in ("full", None)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_run_that_ends_brings_the_next_of_a_long_backlog_back_in_a_few_pages(limits: Any, shop: Store) -> None:
    emails: Queue[Any] = shop.queue("emails", int, **limits)
    fill(BACKLOG)
    hand = Hand()
    held = hand.take_one(emails)

    check(lambda: hand.end(held), 3)

    assert held.group == "full"
