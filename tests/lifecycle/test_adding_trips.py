"""How often an add goes to the database, and what it asks there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.db.models.signals import pre_init
from django.test.utils import CaptureQueriesContext

from tests.byhand import ALONE_OR_IN_A_BLOCK, after
from tinystore_django import Concurrency, LimitError, Queue, Store, models
from tinystore_django.lifecycle import notices

Block = Callable[[], AbstractContextManager[Any]]

pytestmark = pytest.mark.django_db
CALLS: list[Callable[[Queue[Any]], bool]] = [
    lambda queue: queue.add("a"),
    lambda queue: queue.add("a", id="id"),
    lambda queue: queue.add("a", group="g"),
    lambda queue: queue.add("a", id="at", at=after(hours=1)),
    lambda queue: queue.add("a", id="delay", delay="1h"),
    lambda queue: async_to_sync(queue.aadd)("a"),
    lambda queue: async_to_sync(queue.aadd)("a", id="async"),
]
OPTIONS: dict[str, dict[str, Any]] = {
    "a plain queue": {},
    "a limit of groups": {"concurrency": Concurrency(group=2)},
    "a bound of what waits": {"max_waiting": 10},
    "both": {"concurrency": Concurrency(group=2), "max_waiting": 10},
}


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notice that goes out once in a while has just gone."""
    monkeypatch.setattr(notices, "_told_lately", lambda alias, queue: True)


def asked(call: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        call()
    return [one["sql"].lower().split()[0] for one in queries]


@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_an_add_is_one_statement_without_a_transaction_of_its_own(
    options: dict[str, Any], block: Block, shop: Store
) -> None:
    queue = shop.queue("emails", **options)

    with block():
        said = [asked(partial(call, queue)) for call in CALLS]

    assert said == [["insert"]] * len(CALLS)
    assert models.Job.objects.count() == len(CALLS)


def test_an_add_makes_no_instance_of_the_model(shop: Store) -> None:
    queue = shop.queue("emails", max_waiting=10, concurrency=Concurrency(group=2))
    made: list[object] = []

    def count(sender: type, **kwargs: Any) -> None:
        made.append(sender)

    pre_init.connect(count)
    try:
        for call in CALLS:
            call(queue)
        queue.add_many("abc", id=str)
    finally:
        pre_init.disconnect(count)

    assert made == []


def test_an_add_of_a_taken_id_only_looks_whether_it_is_taken(shop: Store) -> None:
    queue = shop.queue("emails")
    queue.add("a", id="x")

    assert asked(lambda: queue.add("b", id="x")) == ["insert", "select"]


def test_an_add_says_nothing_of_what_it_was_not_given(shop: Store) -> None:
    queue = shop.queue("emails")

    with CaptureQueriesContext(connection) as queries:
        queue.add("a")
        queue.add("a", id="x", group="g")

    columns = [one["sql"].partition("(")[2].partition(")")[0] for one in queries]
    assert columns == ['"queue", "value", "at", "due"', '"queue", "value", "at", "due", "key", "group"']


@pytest.mark.parametrize("id", [None, "c"])
def test_room_that_comes_while_an_add_is_refused_is_its_own(id: str | None, shop: Store) -> None:
    queue = shop.queue("emails", max_waiting=2)
    queue.add_many("ab", id=str)
    refused: list[str] = []

    def make_room(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if sql.startswith("insert") and not refused:
            refused.append(sql)
            models.Job.objects.filter(key="a").delete()
        return answer

    with connection.execute_wrapper(make_room):
        assert queue.add("c", id=id) is True
    with pytest.raises(LimitError):
        queue.add("d")

    assert (len(refused), models.Job.objects.count()) == (1, 2)
