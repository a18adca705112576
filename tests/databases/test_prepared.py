"""Statements whose plans the server keeps, where Django is told to let it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

from tinystore_django import Concurrency, Store

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def kept() -> Iterator[Any]:
    """The connection of a project that lets the server keep its plans."""
    before = connections["default"]
    options = {"server_side_binding": True, "prepare_threshold": 2}
    connections["default"] = made = type(before)({**before.settings_dict, "OPTIONS": options}, "default")
    yield made
    made.close()
    connections["default"] = before


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
