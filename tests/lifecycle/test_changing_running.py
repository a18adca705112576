"""set and cancel of a running job: one run more, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.byhand import NOON, Hand, after
from tinystore_django import LastRun, Queue, Store, models
from tinystore_django.lifecycle.aftermath import LOST
from tinystore_django.testing import Clock
from tinystore_django.timing.clock import EPOCH

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("done", None),
        ("retry", "no luck"),
        ("snoozed", None),
        ("failed", "no luck"),
        ("lost", LOST),
        ("given back", None),
    ],
)
def test_the_run_that_set_asks_for_replaces_what_the_ended_one_asked_for(
    kind: Any, error: str | None, emails: Queue[Any], hand: Hand, running: Callable[..., Any], clock: Clock
) -> None:
    held = running(group="g")
    models.Step.objects.create(job=held.id, name="render", answer="1")
    models.Job.objects.update(run=2)  # a later run, so that it may have steps
    held = held._replace(run=2)
    emails.set("x", "new", delay="10m", group="h")
    clock.advance("1s")

    hand.end(held, kind, error, at=held.at + 3_600_000_000 if kind in ("retry", "snoozed") else None)

    job = emails.get("x")
    assert job is not None
    assert (job.value, job.state, job.at, job.attempt, job.group) == ("new", "scheduled", after(minutes=10), 0, "h")
    assert job.error == error
    assert models.Step.objects.count() == 0


def test_while_one_run_more_is_kept_get_shows_it_and_add_and_update_are_refused(
    emails: Queue[Any], running: Callable[..., Any]
) -> None:
    running(group="g")

    emails.set("x", "new", group="h", every="1h")

    job = emails.get("x")
    assert job is not None
    assert (job.value, job.group, job.repeat, job.state) == ("new", "h", job.repeat, "running")
    assert job.repeat is not None
    assert (emails.add("newer", id="x"), emails.update("x", "newer")) == (False, False)


def test_the_last_set_of_a_running_job_wins_whole(emails: Queue[Any], hand: Hand, running: Callable[..., Any]) -> None:
    held = running()
    emails.set("x", "first", delay="10m")
    emails.set("x", "second")

    hand.end(held)

    assert emails.get("x").value == "second"  # type: ignore[union-attr]
    assert emails.get("x").at == NOON  # type: ignore[union-attr]
    assert hand.end(hand.take_one(emails)) == "done"
    assert emails.get("x").state == "done"  # type: ignore[union-attr]


def test_a_run_more_keeps_the_group_and_repeat_that_set_says_nothing_of(
    emails: Queue[Any], hand: Hand, running: Callable[..., Any]
) -> None:
    held = running(group="g", every="1h", at=NOON)
    repeat = emails.get("x").repeat  # type: ignore[union-attr]
    emails.set("x", "new")
    during = emails.get("x")
    hand.end(held)
    later = emails.get("x")

    assert during is not None
    assert later is not None
    assert (during.group, during.repeat, during.state) == ("g", repeat, "running")
    assert (later.group, later.repeat, later.state) == ("g", repeat, "waiting")


def test_a_set_at_the_very_start_of_1970_is_a_run_more_like_another(shop: Store, hand: Hand) -> None:
    plain = shop.queue("plain")
    plain.add("old", id="x")
    held = hand.take_one(plain)
    plain.set("x", "new", at=EPOCH)

    hand.end(held)

    job = plain.get("x")
    assert job is not None
    assert (job.state, job.at, job.last_run) == ("waiting", EPOCH, LastRun(NOON, NOON))


@pytest.mark.parametrize(("delay", "due"), [("10m", 10), ("2h", 60)])
def test_a_repeating_jobs_run_more_is_no_later_than_its_next_tick(
    delay: str, due: int, emails: Queue[Any], hand: Hand, running: Callable[..., Any]
) -> None:
    held = running(cron="0 * * * *", time_zone="UTC", at=NOON)
    emails.set("x", "new", delay=delay)

    hand.end(held)

    job = emails.get("x")
    assert job is not None
    assert (job.at, job.repeat) == (after(minutes=due), "0 * * * * UTC")


def test_a_run_more_with_a_new_repeat_goes_on_with_that(
    emails: Queue[Any], hand: Hand, running: Callable[..., Any], clock: Clock
) -> None:
    held = running(cron="0 * * * *", time_zone="UTC", at=NOON)
    emails.set("x", "new", cron="30 * * * *", time_zone="UTC", delay="1m")
    hand.end(held)
    clock.advance("1m")

    hand.end(hand.take_one(emails))

    job = emails.get("x")
    assert job is not None
    assert (job.at, job.repeat, job.value) == (after(minutes=30), "30 * * * * UTC", "new")


def test_cancel_takes_the_job_and_its_run_more_and_frees_its_id(
    emails: Queue[Any], hand: Hand, running: Callable[..., Any]
) -> None:
    held = running()
    emails.set("x", "new")

    assert emails.cancel("x")
    assert emails.get("x") is None
    assert emails.add("another", id="x")
    assert hand.end(held, "retry", "no luck", delay=0) == "cancelled"
    assert [one.value for one in models.Job.objects.all()] == ['"another"']


def test_a_cancelled_repeating_job_does_not_come_back(
    emails: Queue[Any], hand: Hand, running: Callable[..., Any]
) -> None:
    held = running(every="1h", at=NOON)

    emails.cancel("x")
    hand.end(held)

    assert not models.Job.objects.exists()
