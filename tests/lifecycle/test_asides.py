"""Jobs that were set aside because their group was full: as visible as others, and brought back in time."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.byhand import Hand, after
from tests.lifecycle.limited import State, add, aside, group_of, in_state, ready, took
from tinystore_django import Concurrency, LimitError, Queue, Store, models
from tinystore_django.lifecycle import asides
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", concurrency=Concurrency(group=1))


def tend(queue: Queue[Any]) -> None:
    asides.tend("default", {queue.name: queue._declaration.options})


# Added.


def test_a_job_is_set_aside_at_its_add_behind_as_many_of_its_group_as_may_run(shop: Store, clock: Clock) -> None:
    pairs = shop.queue("emails", concurrency=Concurrency(group=2))
    add(pairs, "a1 a2 a3 b1 -1 -2 -3 a4")

    assert (ready(), aside()) == ("a1 a2 b1 -1 -2 -3", "a3 a4")


def test_a_job_before_those_of_its_group_is_not_set_aside(emails: Queue[Any]) -> None:
    add(emails, "a1", delay="2h")
    add(emails, "a2", delay="3h")
    add(emails, "a3", delay="1h")
    add(emails, "a4", at=after(hours=2))

    assert (ready(), aside()) == ("a3 a1", "a4 a2")


def test_a_job_behind_one_set_aside_is_set_aside(emails: Queue[Any]) -> None:
    add(emails, "a1 a2")
    models.Job.objects.filter(key="a1").delete()
    add(emails, "a3")

    assert (ready(), aside()) == ("", "a2 a3")


def test_many_are_set_aside_at_their_add_but_for_the_first_of_each_group(emails: Queue[Any]) -> None:
    ids = ["a1", "b1", "a2", "-1", "b2", "a3", "-2"]
    emails.add_many(ids, id=lambda key: key, group=group_of)

    assert (ready(), aside()) == ("a1 b1 -1 -2", "a2 b2 a3")


def test_many_whose_first_ids_are_taken_leave_nobody_aside(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "-1")
    emails.set("-1", "of no group")
    emails.add_many(["-1", "x", "y"], id=lambda key: key, group=lambda _: "a")

    started = took(hand, emails)

    assert started == "-1 x"


# Seen.


def test_a_job_set_aside_shows_scheduled_until_its_time_and_then_waiting(emails: Queue[Any], clock: Clock) -> None:
    add(emails, "a1 a2", delay="1h")
    states = [emails.get("a2").state]  # type: ignore[union-attr]
    clock.advance("1h")
    states.append(emails.get("a2").state)  # type: ignore[union-attr]

    assert (in_state(State.ASIDE), states) == ("a2", ["scheduled", "waiting"])


def test_jobs_set_aside_are_listed_by_id_and_state(emails: Queue[Any]) -> None:
    add(emails, "a1 a2 a3")
    add(emails, "a4", delay="1h")

    assert [job.id for job in emails.list().jobs] == ["a1", "a2", "a3", "a4"]
    assert [job.id for job in emails.list(state="waiting", limit=2).jobs] == ["a1", "a2"]
    assert [job.id for job in emails.list(state="scheduled").jobs] == ["a4"]


def test_jobs_set_aside_count_for_max_waiting(shop: Store, clock: Clock) -> None:
    emails = shop.queue("emails", concurrency=Concurrency(group=1), max_waiting=3)
    add(emails, "a1 a2 a3")

    with pytest.raises(LimitError):
        emails.add("v", group="b")
    with pytest.raises(LimitError):
        emails.add_many(["v"])


def test_a_job_of_a_full_group_is_behind_all_that_can_start(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1 a2 a3 b1 -1")
    took(hand, emails, 1)

    ahead = {job.id: emails.get(job.id).ahead for job in emails.list(state="waiting").jobs}  # type: ignore

    assert ahead == {"b1": 0, "-1": 1, "a2": 2, "a3": 3}


def test_a_job_set_aside_is_updated_replaced_and_cancelled_as_any_other(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1 a2 a3 a4")

    assert emails.update("a2", "new")
    emails.set("a3", "newer", delay="1h")
    assert emails.cancel("a4")

    assert emails.get("a2").value == "new"  # type: ignore[union-attr]
    assert emails.get("a3").at == after(hours=1)  # type: ignore[union-attr]
    assert emails.get("a4") is None
    assert (took(hand, emails), emails.add("v", id="a2")) == ("a1", False)


# Brought back.


@pytest.mark.parametrize("moves", ["cancel", "set to later", "set to a group", "update to later", "update to a group"])
def test_the_jobs_behind_one_that_is_moved_or_taken_away_come_back(moves: str, emails: Queue[Any], hand: Hand) -> None:
    calls: dict[str, Any] = {
        "cancel": lambda: emails.cancel("a1"),
        "set to later": lambda: emails.set("a1", "v", delay="1h"),
        "set to a group": lambda: emails.set("a1", "v", group="b", delay="1h"),
        "update to later": lambda: emails.update("a1", "v", delay="1h"),
        "update to a group": lambda: emails.update("a1", "v", group="b", delay="1h"),
    }
    add(emails, "a1 a2 a3")
    models.Queue.objects.create(name="emails", refill_at=2**60)  # nobody looks for those left aside

    calls[moves]()

    assert took(hand, emails) == "a2"
    assert aside() == "a3"


def test_a_job_set_aside_may_be_moved_to_another_group_or_time(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1 a2 a3")

    emails.update("a3", "v", group="b")
    emails.update("a2", "v", at=after(hours=-1))

    assert took(hand, emails) == "a2 b".replace("b", "a3")
    assert aside() == "a1"


def test_a_failed_job_that_is_set_again_starts_within_its_groups_limit(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1 a2")
    hand.end(hand.take_one(emails), "failed")
    took(hand, emails)

    emails.set("a1", "again")

    assert (took(hand, emails), aside()) == ("", "a1")


def test_jobs_left_aside_by_an_add_that_committed_late_come_back_with_the_next_claim(
    emails: Queue[Any], hand: Hand
) -> None:
    add(emails, "a1 a2 b1")
    models.Job.objects.filter(key="a1").delete()  # its run ended before the add of the other had committed

    assert took(hand, emails) == "b1 a2"


def test_they_come_back_by_a_look_where_their_queue_always_has_others(
    emails: Queue[Any], hand: Hand, clock: Clock
) -> None:
    limits = {"emails": emails._declaration.options}
    add(emails, "a1 a2 b1 b2 c1")
    models.Job.objects.filter(key="a1").delete()

    assert asides.look("default", limits)
    assert took(hand, emails, 1) == "a2"
    models.Job.objects.filter(key="b1").delete()
    assert not asides.look("default", limits)  # somebody has just looked
    clock.advance("1s")
    assert asides.look("default", limits)
    assert took(hand, emails) == "b2 c1"


def test_jobs_left_aside_are_looked_for_once_a_second_at_most(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    add(emails, "a1 a2")
    took(hand, emails)

    def looks() -> int:
        with CaptureQueriesContext(connection) as asked:
            took(hand, emails)
        return sum("with recursive" in one["sql"] and "aside" in one["sql"] for one in asked.captured_queries)

    first = looks()
    clock.advance("999ms")
    second = looks()
    clock.advance("2ms")

    assert (first, second, looks()) == (0, 0, 1)


def test_jobs_left_aside_wake_the_worker_when_they_may_be_looked_for(
    emails: Queue[Any], hand: Hand, clock: Clock
) -> None:
    add(emails, "a1 a2")
    took(hand, emails)

    claimed = hand.claim(emails, most=5)

    assert claimed.next_due is not None
    assert claimed.next_due - claimed.now == 1_000_000


# Deploys.


def test_a_limit_that_was_raised_starts_more_at_the_next_look(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1 a2 a3 a4")
    took(hand, emails)
    more = Store().queue("emails", concurrency=Concurrency(group=3))

    tend(more)

    assert (took(hand, more), aside()) == ("a2 a3", "a4")


def test_a_limit_that_was_lowered_lets_the_runs_end_first(shop: Store, hand: Hand) -> None:
    many = shop.queue("emails", concurrency=Concurrency(total=9, group=3))
    add(many, "a1 a2 a3 a4 a5")
    held = hand.take(many, 9)
    fewer = Store().queue("emails", concurrency=Concurrency(total=9, group=1))

    started = []
    for one in held:
        hand.end(one)
        started.append(took(hand, fewer))

    assert started == ["", "", "a4"]


@pytest.mark.parametrize("limit", [{}, {"concurrency": 9}, {"rate": "9/s"}], ids=str)
def test_a_group_limit_that_was_taken_away_leaves_nobody_aside(
    limit: Any, emails: Queue[Any], hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asides, "BLOCK", 2)
    add(emails, "a1 a2 a3 a4 b1 b2")
    free = Store().queue("emails", **limit)

    tend(free)

    assert (aside(), took(hand, free)) == ("", "a1 a2 a3 a4 b1 b2")


def test_a_limit_that_is_new_holds_for_the_jobs_that_wait_already(shop: Store, hand: Hand) -> None:
    free = shop.queue("emails")
    add(free, "a1 a2 a3 b1")
    first = hand.take_one(free)
    limited = Store().queue("emails", concurrency=Concurrency(group=1))

    started = [took(hand, limited)]
    hand.end(first)
    started.append(took(hand, limited))

    assert (started, aside()) == (["b1", "a2"], "a3")


def test_a_paused_queues_jobs_stay_aside_until_it_goes_on(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1 a2")
    models.Queue.objects.create(name="emails", paused_at=after())
    models.Job.objects.filter(key="a1").delete()

    tend(emails)
    paused = took(hand, emails)
    models.Queue.objects.update(paused_at=None)

    assert (paused, took(hand, emails)) == ("", "a2")
