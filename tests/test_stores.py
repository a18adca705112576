"""A store: what may be declared, checked at once and without a database."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import override_settings

from tests.programs import wait_for
from tinystore_django import Backoff, Concurrency, InvalidError, Store
from tinystore_django.values import LONGEST_VALUE


@dataclass
class Email:
    to: str


class Plain:
    """No type that JSON can keep."""


def test_declaring_touches_no_database(shop: Store) -> None:
    queue = shop.queue("emails", Email, attempts=5, concurrency=Concurrency(total=8, group=2), rate="30/s")
    nightly = shop.schedule("nightly", cron="10 3 * * *", time_zone="Europe/Berlin")
    Store(using="an alias there is not").queue("emails")

    assert (queue.name, nightly.name) == ("emails", "nightly")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"attempts": 0}, "attempts 0: give a whole number"),
        ({"attempts": True}, "attempts True"),
        ({"backoff": "1s"}, "backoff '1s': write Backoff"),
        ({"timeout": "0s"}, "timeout '0s': give a span above 0"),
        ({"timeout": 5}, "timeout 5: give a timedelta"),
        ({"concurrency": 0}, "concurrency 0"),
        ({"rate": "30"}, "rate '30'"),
        ({"group_rate": "0/s"}, "group_rate '0/s'"),
        ({"dedupe": "1y"}, "dedupe '1y'"),
        ({"keep": -1}, "keep -1"),
        ({"keep_done": ""}, "keep_done ''"),
        ({"max_waiting": 0}, "max_waiting 0"),
    ],
)
def test_every_option_is_checked_at_once(options: Any, says: str, shop: Store) -> None:
    with pytest.raises(InvalidError, match=says):
        shop.queue("emails", **options)
    shop.queue("emails")  # what was refused is not declared


@pytest.mark.parametrize(
    ("call", "option", "says"),
    [
        (
            "queue",
            "atempts",
            r"Store.queue\(\) got an unexpected keyword argument 'atempts': did you mean 'attempts'\?",
        ),
        ("queue", "foo", r"Store.queue\(\) got .* 'foo': it takes of, attempts, backoff, .*, max_waiting"),
        ("schedule", "timezone", r"Store.schedule\(\) got .* 'timezone': did you mean 'time_zone'\?"),
        ("schedule", "concurrency", r"Store.schedule\(\) got .* 'concurrency': it takes every, cron, .*, timeout"),
    ],
)
def test_an_option_there_is_not_is_told_with_the_one_that_was_meant(
    call: str, option: str, says: str, shop: Store
) -> None:
    with pytest.raises(TypeError, match=f"^{says}$"):
        getattr(shop, call)("emails", **{option: 1})


def test_one_error_names_every_bad_option(shop: Store) -> None:
    with pytest.raises(InvalidError, match=r"attempts 0.*; timeout '5'.*; max_waiting -1"):
        shop.queue("emails", attempts=0, timeout="5", max_waiting=-1)


def test_an_option_that_there_is_not_is_refused(shop: Store) -> None:
    with pytest.raises(TypeError, match="atempts"):
        shop.queue("emails", atempts=3)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["", "E", "-a", "_a", "a b", "é", "a" * 65, "a\n", None, 7])
def test_a_name_that_cannot_be_is_refused(name: Any, shop: Store) -> None:
    with pytest.raises(InvalidError, match="^queue name "):
        shop.queue(name)
    with pytest.raises(InvalidError, match="^schedule name "):
        shop.schedule(name, every="1h")


@pytest.mark.parametrize("name", ["a", "0", "a-b_c", "a" * 64])
def test_a_name_is_1_to_64_of_a_few_characters(name: str, shop: Store) -> None:
    assert shop.queue(name).name == name


def test_a_type_that_json_cannot_keep_is_refused(shop: Store) -> None:
    with pytest.raises(InvalidError, match="Plain"):
        shop.queue("emails", Plain)


# Twice.


def test_the_same_declaration_twice_is_one_queue(shop: Store) -> None:
    first = shop.queue("emails", Email, attempts=10, timeout="60s")
    second = shop.queue("emails", Email, timeout="1m", backoff=Backoff("1s", "60m"))
    first.handler(print)

    with pytest.raises(InvalidError, match="has a handler already"):
        second.handler(print)


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        (lambda shop: shop.queue("emails"), "with another type: declare it once"),
        (lambda shop: shop.queue("emails", Email, attempts=3), "with another attempts: declare it once"),
        (lambda shop: shop.queue("emails", Email, dedupe="1h", keep="1h"), "with another dedupe, keep: declare"),
        (lambda shop: shop.queue("emails", Email, backoff=Backoff("1s", "1m")), "with another backoff: declare"),
        (lambda shop: shop.schedule("emails", every="1h"), "as a queue: give this schedule another name"),
    ],
)
def test_another_declaration_of_a_name_is_told_where_the_first_is_and_what_differs(
    other: Any, differ: str, shop: Store
) -> None:
    shop.queue("emails", Email)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]

    with pytest.raises(InvalidError) as raised:
        other(shop)

    assert str(raised.value).startswith(f"queue 'emails' is declared already in {__file__}:{line}, {differ}")


def test_a_schedule_is_declared_with_one_repeat(shop: Store) -> None:
    shop.schedule("nightly", every="1h")
    shop.schedule("nightly", every="60m")

    for other in ({"every": "2h"}, {"every": "1h", "attempts": 3}):
        with pytest.raises(InvalidError, match="schedule 'nightly' is declared already"):
            shop.schedule("nightly", **other)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="schedule 'hourly' has no repeat: give every='10m' or cron="):
        shop.schedule("hourly")


def test_two_stores_have_names_of_their_own(shop: Store) -> None:
    shop.queue("emails", Email)

    assert Store().queue("emails").name == "emails"


class ReadsElsewhere:
    """A project's router whose replica lags behind: here it holds nothing at all."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "other"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return "default"


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_every_call_reads_where_it_writes(shop: Store) -> None:
    queue = shop.queue("emails")
    seen: list[str] = []

    with override_settings(DATABASE_ROUTERS=[ReadsElsewhere()]):
        queue.add("a", id="x")
        queue.set("y", "b", delay="1h")
        assert [job.id for job in queue.list().jobs] == ["x", "y"]
        assert (queue.update("x", "c"), queue.cancel("y")) == (True, True)
        assert queue.run_due(seen.append) == 1
        assert queue.get("x") is None

    assert seen == ["c"]


@pytest.mark.django_db(transaction=True)
def test_a_value_as_long_as_can_be_is_added_and_run(shop: Store) -> None:
    queue = shop.queue("emails")
    seen: list[str] = []
    longest = "é" * ((LONGEST_VALUE - 2) // 2)

    queue.add(longest)
    with queue.work(seen.append):
        wait_for(lambda: seen == [longest])
