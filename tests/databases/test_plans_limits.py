"""What a claim of a limited queue reads: few pages, however large the backlog of a full group and however many groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.byhand import Hand
from tests.programs import wait_for
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.databases import database

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

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


def pages(call: Callable[[], object]) -> int:
    """The pages of 8 kB that a call reads in all its statements, as the server counts them."""
    with connection.cursor() as cursor:
        # Sent by the connection itself when it has been idle: until then they are not in the view.
        cursor.execute("select pg_stat_force_next_flush()")
        before = _read(cursor)
        call()
        cursor.execute("select pg_stat_force_next_flush()")
        return _read(cursor) - before


def _read(cursor: Any) -> int:
    cursor.execute("select blks_read + blks_hit from pg_stat_database where datname = current_database()")
    return int(cursor.fetchone()[0])


def fill(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        cursor.execute("vacuum analyze tinystore_django_job")


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("backlog", [BACKLOG, GROUPS], ids=["a full group's backlog first", "ten thousand groups"])
def test_a_claim_reads_a_few_pages(backlog: str, limits: Any, shop: Store) -> None:
    emails: Queue[Any] = shop.queue("emails", int, **limits)
    fill(backlog)
    hand = Hand()
    hand.take_one(emails)  # the first of the full group
    hand.take_one(emails)
    started: list[str | None] = []

    read = [pages(lambda: started.extend(one.group for one in hand.take(emails))) for _ in range(5)]

    assert len(set(started)) == 5
    assert max(read) < MOST, read
