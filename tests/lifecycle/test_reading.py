"""get: what it shows of a job in each of its states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction

from tests.byhand import NOON, Hand, after, row, us
from tinystore_django import CorruptError, Job, LastRun, Queue, Store, models
from tinystore_django.lifecycle import stepping
from tinystore_django.lifecycle.aftermath import LOST
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def get(queue: Queue[Any], id: str = "x") -> Job[Any]:
    job = queue.get(id)
    assert job is not None
    return job


def ran(job: Job[Any]) -> tuple[Any, ...]:
    """What a run leaves on a job."""
    return job.state, job.at, job.attempt, job.error, job.progress, job.last_run


def test_a_job_that_never_ran_has_nothing_of_a_run(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h", group="g")

    job = get(emails)

    assert ran(job) == ("scheduled", after(hours=1), 0, None, None, None)
    assert (job.id, job.value, job.group, job.repeat, job.ahead) == ("x", "a", "g", None, 0)


def test_a_job_falls_due_without_a_write(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x", delay="1h")
    before = models.Job.objects.values().get()
    clock.advance("1h")

    assert get(emails).state == "waiting"
    assert models.Job.objects.values().get() == before


def test_a_running_job_counts_this_attempt_and_shows_when_it_was_due(
    emails: Queue[Any], clock: Clock, hand: Hand
) -> None:
    emails.add("a", id="x")
    clock.advance("5m")
    hand.take_one(emails)

    assert ran(get(emails)) == ("running", NOON, 1, None, None, None)


def test_the_progress_of_a_running_job_is_shown_and_gone_when_its_run_ends(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    stepping.report("default", held.fence, '{"done": 1}')
    during = get(emails).progress
    hand.end(held, "retry", "no luck", delay=0)

    assert (during, get(emails).progress) == ({"done": 1}, None)


def test_a_job_in_wait_for_a_retry_shows_the_retrys_time_its_attempts_and_error(
    emails: Queue[Any], clock: Clock, hand: Hand
) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    clock.advance("10s")
    hand.end(held, "retry", "no luck", delay=60_000_000)

    assert ran(get(emails)) == (
        "scheduled", after(seconds=70), 1, "no luck", None, LastRun(NOON, after(seconds=10)),
    )  # fmt: skip


def test_a_running_retry_shows_the_jobs_own_time_and_the_last_attempts_error(
    emails: Queue[Any], clock: Clock, hand: Hand
) -> None:
    emails.add("a", id="x")
    hand.end(hand.take_one(emails), "retry", "no luck", delay=60_000_000)
    clock.advance("2m")
    hand.take_one(emails)

    assert ran(get(emails)) == ("running", NOON, 2, "no luck", None, LastRun(NOON, NOON))


def test_a_snoozed_job_has_its_attempt_and_error_of_before(emails: Queue[Any], clock: Clock, hand: Hand) -> None:
    emails.add("a", id="x")
    hand.end(hand.take_one(emails), "retry", "no luck", delay=0)
    hand.end(hand.take_one(emails), "snoozed", at=us(after(hours=2)))

    assert ran(get(emails)) == ("scheduled", after(hours=2), 1, "no luck", None, LastRun(NOON, NOON))


def test_a_failed_job_shows_when_it_was_due(emails: Queue[Any], clock: Clock, hand: Hand) -> None:
    emails.add("a", id="x")
    hand.end(hand.take_one(emails), "retry", "no luck", delay=60_000_000)
    clock.advance("2m")
    hand.end(hand.take_one(emails), "failed", "no more")

    assert ran(get(emails)) == ("failed", NOON, 2, "no more", None, LastRun(after(minutes=2), after(minutes=2)))


def test_a_done_job_keeps_its_value_group_and_attempt_but_no_error(
    emails: Queue[Any], clock: Clock, hand: Hand
) -> None:
    emails.add("a", id="x", group="g")
    hand.end(hand.take_one(emails), "retry", "no luck", delay=0)
    clock.advance("1s")
    hand.end(hand.take_one(emails))

    job = get(emails)

    assert ran(job) == ("done", NOON, 2, None, None, LastRun(after(seconds=1), after(seconds=1)))
    assert (job.value, job.group) == ("a", "g")


def test_a_job_done_in_a_queue_that_keeps_nothing_leaves_no_row(shop: Store, hand: Hand) -> None:
    plain = shop.queue("plain")
    plain.add("a", id="x")
    hand.end(hand.take_one(plain))

    assert plain.get("x") is None
    assert not models.Job.objects.exists()


def test_a_row_of_keep_done_is_for_the_orm_and_leaves_the_id_free(shop: Store, hand: Hand) -> None:
    kept = shop.queue("kept", keep_done="1d")
    kept.add("a", id="x")
    hand.end(hand.take_one(kept))

    assert kept.get("x") is None
    assert (row().state, row().key, row().kept_until) == (models.Job.State.DONE, "x", after(days=1))
    assert kept.add("b", id="x") is True


def test_a_repeating_job_after_a_good_run_is_scheduled_at_its_next_tick(
    emails: Queue[Any], clock: Clock, hand: Hand
) -> None:
    emails.add("a", id="r", cron="0 * * * *", time_zone="UTC", at=NOON)
    hand.end(hand.take_one(emails), "retry", "no luck", delay=0)
    clock.advance("90m")
    hand.end(hand.take_one(emails))

    assert ran(get(emails, "r")) == (
        "scheduled", after(hours=2), 0, None, None, LastRun(after(minutes=90), after(minutes=90)),
    )  # fmt: skip


def test_a_lost_workers_run_is_the_last_run_from_its_claim_on(emails: Queue[Any], clock: Clock, hand: Hand) -> None:
    emails.add("a", id="x")
    clock.advance("1s")
    held = hand.take_one(emails)
    clock.advance("1m")
    hand.end(held, "lost", LOST)

    assert ran(get(emails)) == ("waiting", NOON, 1, LOST, None, LastRun(after(seconds=1), after(seconds=61)))


def test_a_value_that_no_longer_reads_leaves_the_rest_of_its_job_readable(shop: Store, clock: Clock) -> None:
    @dataclass
    class Email:
        to: str
        subject: str = "Hello"

    emails = shop.queue("typed", Email)
    emails.add(Email("ada"), id="x")
    models.Job.objects.update(value='{"to": "bob", "of_an_older_version": 1}')
    lenient = get(emails).value
    models.Job.objects.update(value='{"to": 3}')

    assert lenient == Email("bob", "Hello")
    assert get(emails).state == "waiting"
    with pytest.raises(CorruptError, match="to"):
        _ = get(emails).value


def test_ahead_counts_the_due_jobs_that_start_before(emails: Queue[Any], shop: Store) -> None:
    shop.queue("others").add("a")
    for key in "abc":
        emails.add(key, id=key)
    emails.add("early", at=after(seconds=-1))
    emails.add("later", id="later", delay="1s")

    assert [get(emails, key).ahead for key in ("a", "b", "c", "later")] == [1, 2, 3, 0]


def test_a_running_job_is_ahead_of_nobody_and_has_nobody_ahead(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="a")
    emails.add("b", id="b")
    hand.take_one(emails)

    assert [get(emails, key).ahead for key in "ab"] == [0, 0]


def test_get_is_one_query_for_a_job_that_is_not_waiting(emails: Queue[Any], django_assert_num_queries: Any) -> None:
    emails.add("a", id="x", delay="1h")

    with django_assert_num_queries(1):
        emails.get("x")


@pytest.mark.django_db(transaction=True)
def test_get_inside_a_transaction_sees_what_it_added(emails: Queue[Any]) -> None:
    with transaction.atomic():
        emails.add("a", id="x")
        assert get(emails).value == "a"
