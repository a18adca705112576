"""Rates over all workers: exact to the microsecond, whatever else bounds the queue."""

from __future__ import annotations

import pytest

from tests.byhand import MICROSECOND, Hand, after, us
from tests.lifecycle.limited import add, aside, took
from tinystore_django import Backoff, Concurrency, Store, models
from tinystore_django.lifecycle import asides
from tinystore_django.lifecycle.clearing import clear
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_a_start_is_free_again_a_span_after_it_to_the_microsecond(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", rate="2/s")
    add(emails, "-1 -2 -3 -4 -5")

    started = [took(hand, emails, 1)]
    clock.advance("300ms")
    started.append(took(hand, emails))
    clock.set(after(seconds=1) - MICROSECOND)
    started.append(took(hand, emails))
    clock.set(after(seconds=1))
    started.append(took(hand, emails))
    clock.set(after(seconds=1.3) - MICROSECOND)
    started.append(took(hand, emails))
    clock.set(after(seconds=1.3))
    started.append(took(hand, emails))

    assert started == ["-1", "-2", "", "-3", "", "-4"]


def test_a_claim_says_when_the_rate_lets_the_next_job_start(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", rate="2/s")
    add(emails, "-1 -2 -3")

    first = hand.claim(emails, most=1)
    clock.advance("300ms")
    second = hand.claim(emails, most=5)
    third = hand.claim(emails, most=5)

    assert [first.next_due, second.next_due, third.next_due] == [None, us(after(seconds=1)), us(after(seconds=1))]


def test_a_claim_says_when_a_groups_rate_lets_its_next_job_start(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", group_rate="1/s")
    add(emails, "a1 a2 b1")

    claimed = hand.claim(emails, most=5)
    clock.advance("400ms")
    again = hand.claim(emails, most=5)

    assert (len(claimed.held), claimed.next_due) == (2, us(after(seconds=1)))
    assert (again.held, again.next_due) == ([], us(after(seconds=1)))


def test_a_groups_rate_is_exact_and_leaves_other_groups_and_jobs_without_one_alone(
    shop: Store, hand: Hand, clock: Clock
) -> None:
    emails = shop.queue("emails", group_rate="1/s")
    add(emails, "a1 a2 b1 -1 -2 a3")

    started = [took(hand, emails)]
    for moment in (after(seconds=1) - MICROSECOND, after(seconds=1), after(seconds=2) - MICROSECOND, after(seconds=2)):
        clock.set(moment)
        started.append(took(hand, emails))

    assert started == ["a1 b1 -1 -2", "", "a2", "", "a3"]


def test_a_groups_rate_is_used_up_though_its_runs_last_and_start_one_at_a_time(
    shop: Store, hand: Hand, clock: Clock
) -> None:
    emails = shop.queue("emails", group_rate="2/s")
    add(emails, "a1 a2 a3 a4 a5 a6")

    started = []
    for moment in (0, 1.5, 1.7, 2.4, 2.5, 2.7):
        clock.set(after(seconds=moment))
        started.append(took(hand, emails, 1))

    assert started == ["a1", "a2", "a3", "", "a4", "a5"]


def test_a_rate_of_thousands_never_lets_more_start_and_frees_each_within_a_thousandth_of_its_span(
    shop: Store, hand: Hand, clock: Clock
) -> None:
    emails = shop.queue("emails", rate="2000/s")
    emails.add_many(range(4_001))
    clock.advance(MICROSECOND)  # starts are logged as of the next millisecond
    first = [len(hand.take(emails, 1_500)), len(hand.take(emails, 1_500))]

    clock.set(after(seconds=1))
    before = len(hand.take(emails, 3_000))
    clock.set(after(seconds=1.001))
    then = len(hand.take(emails, 3_000))

    assert (first, before, then) == ([1_500, 500], 0, 2_000)


@pytest.mark.parametrize("limit", ["rate", "group_rate"])
def test_retries_snoozes_and_lost_runs_count_as_starts(limit: str, shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", backoff=Backoff("1ms", "1ms"), **{limit: "3/10s"})  # type: ignore[call-overload]
    add(emails, "a1 a2")
    for kind in ("retry", "snoozed", "lost"):
        (held,) = hand.take(emails, 1)
        hand.end(held, kind, delay=0)

    assert took(hand, emails) == ""
    clock.set(after(seconds=10))
    assert took(hand, emails) == "a1 a2"


def test_a_rate_is_kept_for_the_next_worker(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", rate="1/s", group_rate="1/s")
    add(emails, "a1 a2")
    hand.end(hand.take_one(emails))
    models.Lease.objects.all().delete()

    assert took(Hand(), emails) == ""
    clock.advance("1s")
    assert took(Hand(), emails) == "a2"


@pytest.mark.parametrize("limit", ["rate", "group_rate"])
@pytest.mark.parametrize("jump", ["1h", "1d"])
def test_a_clock_set_back_delays_a_start_by_one_span_at_most(
    jump: str, limit: str, shop: Store, hand: Hand, clock: Clock
) -> None:
    emails = shop.queue("emails", **{limit: "1/s"})  # type: ignore[call-overload]
    add(emails, "a1 a2", at=after(days=-2))
    clock.advance(jump)
    took(hand, emails)
    clock.set(after(seconds=0))

    at_once = took(hand, emails)
    asides.tend("default", {"emails": emails._declaration.options})
    then = took(hand, emails)
    clock.advance("1s")

    assert [at_once, then, took(hand, emails)] == ["", "", "a2"]


@pytest.mark.parametrize(("before", "now"), [("1/h", "1/s"), ("1/h", None)])
def test_jobs_that_waited_for_a_groups_rate_wait_no_longer_than_the_one_a_deploy_brought(
    before: str, now: str | None, shop: Store, hand: Hand, clock: Clock
) -> None:
    old = shop.queue("emails", group_rate=before)
    add(old, "a1 a2 a3")
    took(hand, old)
    new = Store().queue("emails", group_rate=now, concurrency=Concurrency(group=2))
    clock.advance("1s")

    asides.tend("default", {"emails": new._declaration.options})

    assert (took(hand, new), aside()) == ("a2", "a3")


def test_a_lower_rate_counts_the_starts_before_the_deploy(shop: Store, hand: Hand, clock: Clock) -> None:
    old = shop.queue("emails", rate="5/s")
    add(old, "-1 -2 -3 -4 -5 -6")
    took(hand, old)
    new = Store().queue("emails", rate="2/s")

    clock.set(after(seconds=1) - MICROSECOND)
    early = took(hand, new)
    clock.set(after(seconds=1))

    assert (early, took(hand, new)) == ("", "-6")


def test_the_rate_of_the_queue_and_of_its_groups_hold_together(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", rate="3/s", group_rate="2/s")
    add(emails, "a1 a2 a3 a4 b1 b2 -1")

    started = [took(hand, emails)]
    clock.advance("1s")
    started.append(took(hand, emails))
    clock.advance("1s")
    started.append(took(hand, emails))

    assert started == ["a1 a2 b1", "a3 a4 b2", "-1"]


def test_a_groups_free_places_alone_are_brought_back_however_many_wait(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", group_rate="20/m")
    emails.add_many(range(100), group=lambda _: "a")
    for second in range(20):
        clock.set(after(seconds=second))
        hand.take(emails, 1)
    before = models.Job.objects.filter(state=models.Job.State.ASIDE).count()

    clock.set(after(seconds=60))
    started = hand.take(emails, 10)

    assert (before, len(started)) == (80, 1)
    assert models.Job.objects.filter(state=models.Job.State.ASIDE).count() == 79


def test_the_log_of_a_group_goes_once_it_counts_no_more(shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", group_rate="2/s")
    add(emails, "a1 b1")
    took(hand, emails, 1)
    clock.advance("1m")
    took(hand, emails, 1)
    clock.advance("1s")

    assert clear("default") == 1
    assert [one.group for one in models.Group.objects.all()] == ["b"]
