"""What is counted of each queue, and what of a failed walk."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import Hand, after
from tinystore_django import Queue, Store, models
from tinystore_django.databases.rows import Sum
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.figures import Figures, alive, figures, working
from tinystore_django.lifecycle.tallying import add_up, last_hour
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_each_queue_has_its_own_figures(shop: Store, emails: Queue[Any], clock: Clock) -> None:
    emails.add("a")
    shop.queue("parcels").add("b", delay="1h")

    assert figures("default", ["emails", "parcels", "none"]) == {
        "emails": Figures(waiting=1, oldest=after()),
        "parcels": Figures(scheduled=1),
        "none": Figures(),
    }
    assert figures("default", []) == {}


def test_the_oldest_due_job_may_be_one_set_aside(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="aside", group="full", at=after(seconds=-60))
    emails.add("b", id="later", group="full", delay="1h")
    models.Job.objects.update(state=models.Job.State.ASIDE)
    emails.add("c", at=after(seconds=-30))

    assert figures("default", ["emails"])["emails"] == Figures(waiting=2, scheduled=1, oldest=after(seconds=-60))


def test_a_job_is_waiting_from_the_microsecond_on_at_which_it_is_due(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", at=after(microseconds=1))
    assert figures("default", ["emails"])["emails"].waiting == 0

    clock.set(after(microseconds=1))
    assert figures("default", ["emails"])["emails"].waiting == 1


def test_the_jobs_that_a_worker_runs_are_counted(emails: Queue[Any], hand: Hand) -> None:
    emails.add_many(range(3))
    hand.take(emails, 2)
    leasing.take("default", "host:9", ["emails"], 30_000_000)

    assert [one.running for one in working("default")] == [2, 0]


def test_a_lease_counts_as_alive_until_it_ends(clock: Clock) -> None:
    leasing.take("default", "host:9", ["emails", "parcels"], 30_000_000)

    assert alive("default") == {"emails": 1, "parcels": 1}
    clock.advance("30s")
    assert alive("default") == {}


def test_the_last_hour_is_sixty_minutes_the_present_one_last(clock: Clock) -> None:
    add_up("default", [Sum("emails", 1)])
    clock.advance("59m")
    add_up("default", [Sum("emails", 2, 1, 7)])
    hour = last_hour("default", ["emails", "parcels"])

    assert (len(hour["emails"]), hour["emails"][0], hour["emails"][59]) == (
        60,
        Sum("emails", 1),
        Sum("emails", 2, 1, 7),
    )
    assert hour["parcels"] == [Sum("parcels")] * 60

    clock.advance("1m")
    assert [one.started for one in last_hour("default", ["emails"])["emails"]][-2:] == [2, 0]
    assert sum(one.started for one in last_hour("default", ["emails"])["emails"]) == 2
