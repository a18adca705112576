"""watch and awatch inside a transaction, where a watcher looks on its own connection; and what both refuse."""

from __future__ import annotations

import time
from contextlib import aclosing
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.watching.watch import nobody_watches, states
from tinystore_django import InvalidError, Queue, Store
from tinystore_django.watching import watchers

pytestmark = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


async def all_of(reports: Any) -> list[Any]:
    async with aclosing(reports):
        return [job async for job in reports]


def test_a_watch_in_a_transaction_sees_what_happens_in_it(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    reports = emails.watch("x")

    assert next(reports) == emails.get("x")
    assert emails.run_due(lambda value: None) == 1
    assert states(reports) == ["done"]
    assert nobody_watches()


def test_a_coroutine_in_a_transaction_sees_what_happens_in_it(emails: Queue[Any]) -> None:
    async def watched() -> list[str]:
        await emails.aadd("a", id="x")
        async with aclosing(emails.awatch("x")) as reports:
            first = await anext(reports)
            await emails.arun_due(lambda value: None)
            return [first.state, *[job.state async for job in reports]]

    assert async_to_sync(watched)() == ["waiting", "done"]


def test_an_id_without_a_job_gives_nothing(emails: Queue[Any]) -> None:
    for id in ("x", "", "\0", "x" * 2000):
        assert list(emails.watch(id)) == []
        assert async_to_sync(all_of)(emails.awatch(id)) == []


@pytest.mark.parametrize("id", [None, 7, b"x", ["x"]])
def test_an_id_that_is_no_text_is_refused_at_once(id: Any, emails: Queue[Any]) -> None:
    for watch in (emails.watch, emails.awatch):
        with pytest.raises(InvalidError, match="^id .*: give a text, such as str"):
            watch(id)


def test_a_job_that_has_failed_is_one_report(emails: Queue[Any]) -> None:
    emails.add("a", id="x")
    emails.run_due(lambda value, run: run.fail("no"))

    assert states(emails.watch("x")) == ["failed"]
    assert states(async_to_sync(all_of)(emails.awatch("x"))) == ["failed"]


@pytest.mark.parametrize("timeout", [0.3, "300ms", timedelta(seconds=0.3)])
def test_a_timeout_ends_it_quietly(timeout: Any, emails: Queue[Any]) -> None:
    emails.add("a", id="x")
    for watch in (
        lambda: list(emails.watch("x", timeout=timeout)),
        lambda: async_to_sync(all_of)(emails.awatch("x", timeout=timeout)),
    ):
        began = time.monotonic()

        assert states(watch()) == ["waiting"]
        assert 0.3 <= time.monotonic() - began < 30


def test_a_timeout_of_nothing_shows_the_job_as_it_is(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    assert states(emails.watch("x", timeout=0)) == ["waiting"]
    assert states(async_to_sync(all_of)(emails.awatch("x", timeout="0s"))) == ["waiting"]


@pytest.mark.parametrize("timeout", [-1, True, float("nan"), float("inf"), "1 m", "", timedelta(-1), [], object()])
def test_a_timeout_that_cannot_be_is_refused_at_the_call(timeout: Any, emails: Queue[Any]) -> None:
    for watch in (emails.watch, emails.awatch):
        with pytest.raises(InvalidError, match="timeout"):
            watch("x", timeout=timeout)


def test_it_looks_five_times_a_second_at_most(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")

    with CaptureQueriesContext(connection) as asked:
        assert states(emails.watch("x", timeout=1)) == ["scheduled"]

    assert 2 <= len(asked) <= 6


def test_a_coroutine_that_watches_does_not_sleep_in_the_thread_for_sync_code(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(watchers, "time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    emails.add("a", id="x", delay="1h")

    assert states(async_to_sync(all_of)(emails.awatch("x", timeout=0.5))) == ["scheduled"]
    assert slept == []
