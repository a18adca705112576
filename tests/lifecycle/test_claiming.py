"""A worker's round: settles what finished and claims what is due."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import NOON, Hand, after, row, us
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import claim, turn
from tinystore_django.lifecycle.settling import Finished
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_a_claim_takes_the_first_due_jobs_in_order_and_no_more_than_wanted(emails: Queue[Any], hand: Hand) -> None:
    for key in "cab":
        emails.add(key, id=key)
    emails.add("past", id="past", at=after(hours=-1))

    assert [held.key for held in hand.take(emails, 3)] == ["past", "c", "a"]
    assert [held.key for held in hand.take(emails, 3)] == ["b"]


def test_a_claim_marks_its_jobs_as_running_under_the_lease(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", id="x", group="g")
    clock.advance("1m")

    held = hand.take_one(emails)

    assert (held.key, held.value, held.attempt, held.group, held.repeat) == ("x", '"a"', 1, "g", None)
    assert (held.at, held.started_at) == (us(NOON), us(after(minutes=1)))
    assert (row().state, row().lease, row().run, row().attempt) == (models.Job.State.RUNNING, hand.lease, 1, 1)


def test_each_claim_of_a_job_has_another_fence(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")
    first = hand.take_one(emails)
    hand.end(first, "snoozed", delay=0)
    second = hand.take_one(emails)

    assert (first.run, second.run, second.attempt) == (1, 2, 1)
    assert first.fence != second.fence


def test_a_job_is_not_claimed_before_its_time_and_is_at_it(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", at=after(hours=1))
    clock.set(after(hours=1, microseconds=-1))
    early = hand.take(emails)
    clock.set(after(hours=1))

    assert (early, len(hand.take(emails))) == ([], 1)


def test_a_claim_says_when_the_next_job_falls_due(emails: Queue[Any], shop: Store, hand: Hand) -> None:
    others = shop.queue("others")
    emails.add("a")
    emails.add("b", delay="2h")
    others.add("c", delay="1h")
    shop.queue("unasked").add("d", delay="1m")

    claimed = claim("default", hand.lease, {"emails": 5, "others": 5})

    assert (claimed.now, len(claimed.held), claimed.next_due) == (us(NOON), 1, us(after(hours=1)))


def test_a_queue_with_no_free_handler_is_not_claimed_from(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a")

    assert hand.take(emails, 0) == []


def test_a_turn_settles_and_claims(emails: Queue[Any], shop: Store, hand: Hand) -> None:
    plain = shop.queue("plain")
    plain.add("a")
    emails.add("b", id="b")
    held = [hand.take_one(plain), hand.take_one(emails)]
    plain.add("c")
    finished = [
        Finished(one, Ending("done"), queue._declaration.options)
        for one, queue in zip(held, (plain, emails), strict=True)
    ]

    settling, claimed = turn("default", hand.lease, finished, Asked({"plain": 1}))

    assert set(settling.outcomes.values()) == {"done"}
    assert claimed is not None
    assert [one.value for one in claimed.held] == ['"c"']


def test_a_turn_of_plain_runs_leaves_the_one_that_has_a_run_more(shop: Store, hand: Hand) -> None:
    plain = shop.queue("plain")
    plain.add("a", id="x")
    plain.add("b", id="y")
    held = hand.take(plain, 2)
    plain.set("x", "again", delay="1h")
    finished = [Finished(one, Ending("done"), plain._declaration.options) for one in held]

    settling, _ = turn("default", hand.lease, finished, Asked({"plain": 1}))

    assert len(settling.outcomes) == 2
    assert plain.get("x").state == "scheduled"  # type: ignore[union-attr]
    assert plain.get("y") is None


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}, {"rate": "100/s"}])
@pytest.mark.parametrize("others", [0, 2])
def test_a_turn_of_plain_runs_claims_what_one_of_them_has_next_in_its_place(
    shop: Store, hand: Hand, options: Any, others: int
) -> None:
    plain = shop.queue("plain", **options)
    plain.add("a", id="x")
    held = hand.take_one(plain)
    plain.set("x", "again")
    plain.add_many(range(others))
    finished = [Finished(held, Ending("done"), plain._declaration.options)]
    limits = {"plain": plain._declaration.options} if options else {}

    settling, claimed = turn("default", hand.lease, finished, Asked({"plain": 1}, limits, [held]))

    assert set(settling.outcomes.values()) == {"done"}
    assert claimed is not None
    assert [one.value for one in claimed.held] == ['"again"']


def test_a_turn_that_wants_nothing_and_has_nothing_does_nothing(hand: Hand, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        settling, claimed = turn("default", hand.lease, [], Asked({}))

    assert (dict(settling.outcomes), claimed) == ({}, None)
