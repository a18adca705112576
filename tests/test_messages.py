"""What is wrong is told in a line or two, however long what was given is."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pytest

from tests.project.models import Order
from tinystore_django import Backoff, Concurrency, Store, TinystoreError, conf
from tinystore_django.runs import Run
from tinystore_django.testing import clock
from tinystore_django.timing.repeats import read
from tinystore_django.worker.startup import chosen

pytestmark = pytest.mark.django_db
MOST = 1_000
LONG = "x" * 1_000_000
LONG_NUMBER: Any = 10**4_000


class Kind(enum.Enum):
    A = "a"


@dataclass
class Picky:
    name: str

    def __post_init__(self) -> None:
        raise ValueError(f"not {self.name}")


@dataclass
class Long:
    def __repr__(self) -> str:
        return LONG


Call = Callable[[Any, Any], object]

OF_A_STORE: dict[str, Call] = {
    "its name": lambda store, given: store.queue(given),
    "an option that there is not": lambda store, given: store.queue("other", **{str(given): 1}),
    "its type": lambda store, given: store.queue("other", Literal[str(given)] | bytes | Order),
    "attempts": lambda store, given: store.queue("other", attempts=given),
    "backoff": lambda store, given: store.queue("other", backoff=given),
    "a backoff's initial": lambda store, given: Backoff(given, "1s"),
    "concurrency": lambda store, given: store.queue("other", concurrency=given),
    "a group's concurrency": lambda store, given: Concurrency(group=given),
    "timeout": lambda store, given: store.queue("other", timeout=given),
    "rate": lambda store, given: store.queue("other", rate=given),
    "max_waiting": lambda store, given: store.queue("other", max_waiting=given),
    "a schedule's name": lambda store, given: store.schedule(given, every="1h"),
    "every": lambda store, given: store.schedule("other", every=given),
    "cron": lambda store, given: store.schedule("other", cron=given),
    "a zone": lambda store, given: store.schedule("other", cron="0 0 * * *", time_zone=given),
    "a zone without cron": lambda store, given: store.schedule("other", time_zone=given),
    "every with cron": lambda store, given: store.schedule("other", every=given, cron=given),
}
OF_A_QUEUE: dict[str, Call] = {
    "an id": lambda queue, given: queue.add(1, id=given),
    "an argument that there is not": lambda queue, given: queue.add(1, **{str(given): 1}),
    "a group": lambda queue, given: queue.add(1, group=given),
    "at": lambda queue, given: queue.add(1, at=given),
    "delay": lambda queue, given: queue.add(1, delay=given),
    "at with delay": lambda queue, given: queue.add(1, at=given, delay=given),
    "values": lambda queue, given: queue.add_many(LONG_NUMBER),
    "a function of the values": lambda queue, given: queue.add_many([1], id=given),
    "an id of many": lambda queue, given: queue.add_many([1], id=lambda value: given),
    "an id to set": lambda queue, given: queue.set(given, 1),
    "a prefix": lambda queue, given: queue.list(prefix=[given]),
    "a state": lambda queue, given: queue.list(state=given),
    "after": lambda queue, given: queue.list(after=f"\0{given}"),
    "after of failed ones": lambda queue, given: queue.list(state="failed", after=str(given)),
    "after that is no text": lambda queue, given: queue.list(after=[given]),
    "a limit": lambda queue, given: queue.list(limit=given),
    "a watch's timeout": lambda queue, given: queue.watch("a", timeout=given),
    "a transaction": lambda queue, given: queue.in_(given),
    "a handler": lambda queue, given: queue.handler([given]),
    "concurrency at once": lambda queue, given: queue.run_due(print, concurrency=given),
    "the name of a worker's queue": lambda queue, given: chosen([str(given)], []),
    "a kept repeat": lambda queue, given: read(str(given)),
    "a test's clock": lambda queue, given: clock(given).__enter__(),
}
GIVEN = {"a text": LONG, "a list": [LONG] * 3, "bytes": LONG.encode(), "an object": Long(), "a number": LONG_NUMBER}


def told(call: Callable[[], object]) -> str:
    with pytest.raises((TinystoreError, TypeError)) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
@pytest.mark.parametrize("call", OF_A_STORE.values(), ids=OF_A_STORE.keys())
def test_a_declaration_that_cannot_be_is_told_shortly(call: Call, given: Any, shop: Store) -> None:
    assert len(told(lambda: call(shop, given))) <= MOST


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
@pytest.mark.parametrize("call", OF_A_QUEUE.values(), ids=OF_A_QUEUE.keys())
def test_a_call_that_cannot_be_is_told_shortly(call: Call, given: Any, shop: Store) -> None:
    assert len(told(lambda: call(shop.queue("emails"), given))) <= MOST


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (Any, {LONG: float("nan")}),
        (Any, {LONG_NUMBER: 1}),
        (Any, Long()),
        (Any, Decimal("NaN" + "1" * 100_000)),
        (Kind, LONG),
        (Literal["a"], LONG),
        (dict[str, int], {LONG[:900_000]: "x"}),
        (dict[int, int], {LONG[:900_000]: 1}),
        (list[str], [LONG[:900_000], 1]),
        (tuple[int, ...], [LONG[:900_000]]),
        (Picky, {"name": LONG[:900_000]}),
        (str, LONG + "x" * 100_000),
    ],
)
def test_a_value_that_cannot_be_kept_is_told_shortly(of: Any, value: Any, shop: Store) -> None:
    queue = shop.queue("values", of)

    assert len(told(lambda: queue.add(value))) <= MOST


OF_A_RUN: dict[str, Callable[[Run, Any], object]] = {
    "a step's name": lambda run, given: run.step(given, int),
    "a step's function": lambda run, given: run.step("a", [given]),
    "a step's answer": lambda run, given: run.step("a", lambda: {str(given)[:900_000]: "x"}, of=dict[str, int]),
    "a step's type": lambda run, given: run.step("a", lambda: 1, of=Literal[str(given)]),
    "a progress": lambda run, given: run.set_progress({str(given): float("nan")}),
    "a retry's time": lambda run, given: run.retry(given),
    "a snooze's time": lambda run, given: run.snooze(given),
}


@pytest.mark.parametrize("call", OF_A_RUN.values(), ids=OF_A_RUN.keys())
def test_what_a_handler_gives_its_run_is_refused_shortly(call: Callable[[Run, Any], object], shop: Store) -> None:
    emails, said = shop.queue("emails"), list[str]()
    emails.add(1)

    emails.run_due(lambda value, run: said.append(told(lambda: call(run, LONG))))

    assert len(said[0]) <= MOST


@pytest.mark.parametrize("name", ["LEASE", "POLL", "GRACE", "NOTIFY", "REDACT", LONG])
def test_a_setting_that_cannot_be_is_told_shortly(name: str, settings: Any) -> None:
    from tinystore_django.checks import check_settings

    settings.TINYSTORE = {name: LONG}

    assert [len(str(message.msg)) <= MOST for message in check_settings()] == [True]


def test_settings_that_are_none_are_told_shortly(settings: Any) -> None:
    settings.TINYSTORE = LONG

    assert len(told(conf.chosen)) <= MOST
