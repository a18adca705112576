"""Statements whose plans the server keeps, where Django is told to let it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import NotSupportedError, connection, connections

from tinystore_django import Concurrency, Store
from tinystore_django.databases import database
from tinystore_django.databases.statements import Rows
from tinystore_django.worker.hold import drop, let_go

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
SQL = "select number from probe"


@contextmanager
def with_options(**options: Any) -> Iterator[Any]:
    """This thread's connection, with other options."""
    before = connections["default"]
    connections["default"] = made = type(before)({**before.settings_dict, "OPTIONS": options}, "default")
    yield made
    made.close()
    connections["default"] = before


@pytest.fixture
def kept() -> Iterator[Any]:
    """The connection of a project that lets the server keep its plans."""
    with with_options(server_side_binding=True, prepare_threshold=2) as made:
        yield made


@pytest.mark.parametrize("limit", [None, Concurrency(total=2), Concurrency(total=2, group=1)], ids=str)
def test_the_server_keeps_the_plans_of_adds_and_claims_and_the_jobs_run(limit: Any, kept: Any, shop: Store) -> None:
    emails = shop.queue("emails", int, concurrency=limit, max_waiting=100)
    ran: list[int] = []

    for number in range(5):
        emails.add(number, id=str(number), group=str(number % 2))
    emails.add_many(range(5, 10), id=str)
    settled = emails.run_due(ran.append)

    assert (settled, sorted(ran)) == (10, list(range(10)))
    with kept.cursor() as cursor:
        cursor.execute("select statement from pg_prepared_statements")
        statements = [row[0].split() for row in cursor.fetchall()]
    assert ["insert", "into", "tinystore_django_job"] in [words[:3] for words in statements]


@pytest.fixture
def probe() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("create table probe as select 1 as number")
        yield
        cursor.execute("drop table probe")


@pytest.mark.parametrize("options", [{}, {"pool": {"min_size": 1, "max_size": 1}}], ids=["alone", "of a pool"])
def test_a_plan_that_a_migration_made_useless_costs_a_worker_one_round(probe: None, options: dict[str, Any]) -> None:
    store = database("default")

    def rounds() -> Iterator[Rows]:
        with with_options(**options) as made:
            store.own_thread()
            yield store.run(SQL)
            let_go("default")
            with suppress(NotSupportedError):
                yield store.run(SQL)
            drop("default")
            yield store.run(SQL)
            drop("default")
            made.close_pool()

    with ThreadPoolExecutor(1) as thread, connection.cursor() as cursor:
        worker = rounds()
        assert thread.submit(next, worker).result() == [(1,)]
        cursor.execute("alter table probe alter column number type bigint")
        assert thread.submit(next, worker).result() == [(1,)]
        assert thread.submit(next, worker, None).result() is None
