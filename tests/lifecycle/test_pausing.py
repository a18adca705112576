"""A paused queue starts nothing, and everything else about it goes on."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.byhand import Hand, after, us
from tinystore_django import Queue, Store, models
from tinystore_django.databases import database
from tinystore_django.lifecycle import notices
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.lifecycle.pausing import pause, paused, resume
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_a_paused_queue_starts_no_job_until_it_is_resumed(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")

    assert pause("default", "emails") is True
    assert hand.take(emails) == []

    assert resume("default", "emails") is True
    assert [held.key for held in hand.take(emails)] == ["x"]


def test_other_queues_go_on(shop: Store, emails: Queue[Any], hand: Hand) -> None:
    parcels = shop.queue("parcels")
    emails.add("a letter")
    parcels.add("a parcel", id="p")
    pause("default", "emails")

    assert [held.key for held in claim("default", hand.lease, {"emails": 1, "parcels": 1}).held] == ["p"]


def test_a_second_pause_leaves_the_time_of_the_first(emails: Queue[Any], clock: Clock) -> None:
    pause("default", "emails")
    clock.advance("1h")

    assert pause("default", "emails") is False
    assert paused("default") == {"emails": after()}


def test_what_is_not_paused_is_not_resumed(emails: Queue[Any]) -> None:
    assert resume("default", "emails") is False

    pause("default", "emails")
    resume("default", "emails")

    assert resume("default", "emails") is False
    assert paused("default") == {}


def test_what_runs_goes_on_and_every_call_works(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="runs")
    held = hand.take_one(emails)
    pause("default", "emails")

    assert hand.end(held) == "done"
    assert emails.add("b", id="b") is True
    emails.set("c", "c")
    assert emails.update("b", "B") is True
    assert emails.cancel("c") is True
    assert [job.id for job in emails.list().jobs] == ["b"]


def test_run_due_leaves_a_paused_queue_alone(emails: Queue[Any]) -> None:
    emails.add("a")
    pause("default", "emails")

    assert emails.run_due(lambda value: None) == 0
    resume("default", "emails")
    assert emails.run_due(lambda value: None) == 1


def test_a_paused_schedule_is_opened_and_does_not_run(shop: Store, clock: Clock) -> None:
    cleanup = shop.schedule("cleanup", every="1h")
    cleanup.handler(lambda: None)
    pause("default", "cleanup")
    cleanup.run_due()
    clock.advance("2h")

    assert cleanup.run_due() == 0
    resume("default", "cleanup")
    assert cleanup.run_due() == 1


def test_a_worker_is_not_told_of_what_falls_due_in_a_paused_queue(shop: Store, emails: Queue[Any], hand: Hand) -> None:
    parcels = shop.queue("parcels")
    emails.add("a")
    emails.add("b", delay="1s")
    pause("default", "emails")
    wanted = {"emails": 1, "parcels": 1}

    alone = database("default").claim(hand.lease, wanted).next_due
    parcels.add("c", delay="1m")
    parcels.add("d")
    both = database("default").claim(hand.lease, wanted)

    assert alone is None
    assert (len(both.held), both.next_due) == (1, us(after(minutes=1)))


@pytest.mark.django_db(transaction=True)
def test_the_workers_are_woken_by_a_resume(emails: Queue[Any]) -> None:
    heard: list[str] = []
    unsubscribe = notices.subscribe("default", heard.append)
    pause("default", "emails")
    resume("default", "emails")
    unsubscribe()

    assert heard == ["emails"]


def test_a_pause_is_a_queues_own_row(emails: Queue[Any]) -> None:
    pause("default", "emails")
    resume("default", "emails")

    assert list(models.Queue.objects.values_list("name", "paused_at", "starts")) == [("emails", None, "[]")]


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_queue_that_is_paused_while_a_claim_waits_for_the_lock_starts_nothing(
    emails: Queue[Any], hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    emails.add("a")
    store = database("default")
    begin = store.own_transaction

    def begin_late() -> Any:
        pause("default", "emails")
        return begin()

    monkeypatch.setattr(store, "own_transaction", begin_late)

    assert hand.take(emails) == []


@pytest.mark.sqlite
def test_a_worker_of_a_paused_queue_only_reads(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a")
    pause("default", "emails")

    with CaptureQueriesContext(connection) as queries:
        hand.take(emails)

    assert len(queries) == 1
