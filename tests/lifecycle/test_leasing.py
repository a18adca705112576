"""A worker's lease: renewed, lost, and what is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import LEASE, Hand, after, us
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import leasing
from tinystore_django.options import queue_options
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
OPTIONS = queue_options(attempts=3)


def sweep(options: Any = OPTIONS) -> dict[Any, str]:
    return leasing.sweep("default", lambda queue: options)


def test_a_lease_lasts_from_its_last_renewal(hand: Hand, clock: Clock) -> None:
    clock.advance("20s")

    renewal = leasing.renew("default", hand.lease, LEASE)

    assert renewal is not None
    assert renewal.now == us(after(seconds=20))
    lease = models.Lease.objects.get()
    assert (lease.renewed_at, lease.expires_at) == (after(seconds=20), after(seconds=50))


def test_a_lease_says_what_its_worker_is(clock: Clock) -> None:
    leasing.take("default", "host:7", ["emails", "parcels"], LEASE, version="0.1.0", woken="every 1s")

    lease = models.Lease.objects.get()
    assert (lease.name, lease.queues, lease.version, lease.woken) == ("host:7", "emails parcels", "0.1.0", "every 1s")
    assert (lease.started_at, lease.renewed_at) == (after(), after())


def test_a_renewal_says_what_there_is_to_do(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    quiet = leasing.renew("default", hand.lease, LEASE)
    clock.advance("1s")
    other = Hand()
    emails.add("a", id="a")
    emails.add("b", id="b")
    hand.end(hand.take_one(emails), "failed")
    other.take_one(emails)
    models.Lease.objects.filter(pk=other.lease).delete()
    Hand()
    clock.advance("7d")
    busy = leasing.renew("default", hand.lease, LEASE)

    assert quiet is not None
    assert busy is not None
    assert (quiet.next_expiry, quiet.orphans, quiet.clearable) == (None, False, False)
    assert (busy.next_expiry, busy.orphans, busy.clearable) == (us(after(seconds=31)), True, True)


def test_a_lease_that_is_gone_cannot_be_renewed(hand: Hand) -> None:
    leasing.give_up("default", hand.lease)

    assert leasing.renew("default", hand.lease, LEASE) is None


def test_the_jobs_of_a_lease_that_ran_out_are_taken_back_and_not_before(
    emails: Queue[Any], hand: Hand, clock: Clock
) -> None:
    emails.add("a", id="x")
    hand.take_one(emails)
    clock.advance("30s")
    early = sweep()
    clock.advance("1ms")

    assert (early, {held.key: outcome for held, outcome in sweep().items()}) == ({}, {"x": "lost"})
    job = emails.get("x")
    assert job is not None
    assert (job.state, job.attempt, job.error) == ("waiting", 1, "the worker was lost")
    assert not models.Lease.objects.exists()


def test_a_worker_that_lives_loses_nothing(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    for _ in range(3):
        clock.advance("20s")
        leasing.renew("default", hand.lease, LEASE)

    assert sweep() == {}
    assert hand.end(held) == "done"


def test_the_job_of_a_worker_whose_lease_was_removed_by_hand_is_taken_back(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    models.Lease.objects.all().delete()

    assert len(sweep()) == 1
    assert hand.end(held) is None


def test_a_lost_job_on_its_last_attempt_has_failed(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", id="x")
    hand.take_one(emails)
    clock.advance("1m")

    sweep(queue_options(attempts=1))

    job = emails.get("x")
    assert job is not None
    assert (job.state, job.error, job.attempt) == ("failed", "the worker was lost", 1)


def test_a_lost_repeating_job_on_its_last_attempt_goes_on_at_the_next_tick(
    emails: Queue[Any], hand: Hand, clock: Clock
) -> None:
    emails.add("a", id="r", cron="0 * * * *", time_zone="UTC", at=clock.now)
    hand.take_one(emails)
    clock.advance("1m")

    sweep(queue_options(attempts=1))

    job = emails.get("r")
    assert job is not None
    assert (job.state, job.error, job.attempt, job.at) == ("scheduled", "the worker was lost", 0, after(hours=1))


def test_a_cancelled_job_of_a_lost_worker_is_gone(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", id="x")
    hand.take_one(emails)
    emails.cancel("x")
    clock.advance("1m")

    sweep()

    assert not models.Job.objects.exists()


def test_a_worker_finds_which_of_its_jobs_were_cancelled(emails: Queue[Any], hand: Hand) -> None:
    for key in "ab":
        emails.add(key, id=key)
    held = {one.key: one for one in hand.take(emails, 2)}
    emails.cancel("b")

    assert leasing.cancelled("default", [one.fence for one in held.values()]) == {held["b"].fence}


def test_a_worker_finds_what_it_holds_without_knowing(emails: Queue[Any], hand: Hand, shop: Store) -> None:
    for key in "ab":
        emails.add(key, id=key)
    first, second = hand.take(emails, 2)

    assert leasing.unknown("default", hand.lease, {first.fence}) == [second]
