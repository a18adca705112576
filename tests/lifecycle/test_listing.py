"""list: which jobs, and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.byhand import MICROSECOND, NOON, Hand, after
from tests.lifecycle.lists import IN_ORDER, add_all, ids, pages
from tinystore_django import CorruptError, JobPage, Queue, Store, models
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db

MEBIBYTE = 1024 * 1024


@pytest.fixture
def mixed(emails: Queue[Any], hand: Hand, clock: Clock) -> Queue[Any]:
    """A queue with a job in each state, twice: with an id, and without one, whose value is its name."""
    for id in (None, "x"):
        for name in ("failed", "done", "running", "cancelled"):
            emails.add(name, id=id and f"x-{name}", at=NOON - timedelta(minutes=1))
    for held in hand.take(emails, 8):
        if "failed" in held.value or "done" in held.value:
            hand.end(
                held, "failed" if "failed" in held.value else "done", "no luck" if "failed" in held.value else None
            )
    emails.cancel("x-cancelled")
    models.Job.objects.filter(key=None, value='"cancelled"').delete()
    for id in (None, "x"):
        emails.add("waiting", id=id and "x-waiting")
        emails.add("scheduled", id=id and "x-scheduled", delay="1h")
    return emails


# Which jobs, and their order.


def test_jobs_come_in_the_order_of_their_ids_bytes(emails: Queue[Any]) -> None:
    expected = sorted(IN_ORDER, key=str.encode)
    add_all(emails, sorted(IN_ORDER, key=lambda id: id[::-1]))

    assert ids(emails.list()) == expected
    assert [id for page in pages(emails, limit=3) for id in ids(page)] == expected


def test_jobs_without_ids_come_behind_as_they_were_added(emails: Queue[Any]) -> None:
    for number, id in enumerate(["b", None, "a", None]):
        emails.add(number, id=id, delay=timedelta(hours=9 - number))

    assert [(job.id, job.value) for job in emails.list().jobs] == [("a", 2), ("b", 0), (None, 1), (None, 3)]


def test_a_list_is_of_one_queue(emails: Queue[Any], shop: Store) -> None:
    other = shop.queue("emails-too")
    other.add("theirs", id="x")
    other.add("theirs")
    emails.add("ours", id="y")

    assert ids(emails.list()) == ["y"]


def test_a_list_has_the_scheduled_waiting_running_and_failed_jobs(mixed: Queue[Any]) -> None:
    listed = [(job.id, job.value, job.state) for job in mixed.list().jobs]

    named = [(f"x-{state}", state, state) for state in ("failed", "running", "scheduled", "waiting")]
    assert listed == named + [(None, state, state) for state in ("failed", "running", "waiting", "scheduled")]


@pytest.mark.parametrize("state", ["scheduled", "waiting", "running", "failed"])
def test_a_state_lists_the_jobs_in_it(state: str, mixed: Queue[Any]) -> None:
    for jobs in (mixed.list(state=state).jobs, list(mixed.all(state=state))):
        assert {(job.id, job.value, job.state) for job in jobs} == {(f"x-{state}", state, state), (None, state, state)}


def test_a_job_is_listed_as_waiting_from_the_instant_it_is_due(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x", delay="1h")

    clock.set(after(hours=1) - MICROSECOND)
    before = [ids(emails.list(state=state)) for state in ("scheduled", "waiting")]
    clock.set(after(hours=1))

    assert before == [["x"], []]
    assert [ids(emails.list(state=state)) for state in ("scheduled", "waiting")] == [[], ["x"]]


def test_a_failed_job_is_listed_until_its_keep_has_passed(mixed: Queue[Any], clock: Clock) -> None:
    clock.set(after(days=7) - MICROSECOND)
    before = len(mixed.list(state="failed").jobs)
    clock.set(after(days=7))

    assert (before, mixed.list(state="failed").jobs) == (2, [])
    assert "failed" not in {job.state for job in mixed.list().jobs}


def test_a_listed_job_is_what_get_shows(mixed: Queue[Any]) -> None:
    for job in mixed.list(prefix="x-").jobs:
        assert job.id is not None
        shown = mixed.get(job.id)
        assert shown is not None
        assert job == replace(shown, ahead=0)


def test_a_listed_job_has_nobody_ahead(emails: Queue[Any]) -> None:
    add_all(emails, ["a", "b"])

    assert emails.get("b").ahead == 1  # type: ignore[union-attr]
    assert [job.ahead for job in emails.list().jobs] == [0, 0]


def test_a_job_whose_value_no_longer_reads_is_listed_with_the_others(shop: Store) -> None:
    numbers = shop.queue("numbers", int)
    numbers.add_many([1, 2, 3], id=str)
    models.Job.objects.filter(key="2").update(value='"two"')

    jobs = numbers.list().jobs

    assert [job.id for job in jobs] == ["1", "2", "3"]
    with pytest.raises(CorruptError):
        _ = jobs[1].value
    assert jobs[2].value == 3


# Prefixes.

NAMES = [
    "%", "%a", "100%", "_", "_a", "a", "a\U0010ffff", "a\U0010ffffb", "ab", "aB", "b", "chat:4", "chat:42", "chat:5",
    "é", "éa", "\ud7ff", "\ud7ffa", "\ue000", "\U0010ffff", "\U0010ffff\U0010ffff", "\\", "'",
]  # fmt: skip


@pytest.mark.parametrize(
    "prefix", ["", "%", "_", "a", "a\U0010ffff", "A", "b", "c", "chat:4", "é", "\ud7ff", "\U0010ffff", "\\", "'", "no"]
)
def test_a_prefix_is_plain_text(prefix: str, emails: Queue[Any]) -> None:
    add_all(emails, NAMES)
    emails.add("without an id")

    expected = sorted((id for id in NAMES if id.startswith(prefix)), key=str.encode)

    assert ids(emails.list(prefix=prefix)) == expected
    assert [job.id for job in emails.all(prefix=prefix)] == expected


@pytest.mark.parametrize("prefix", ["a\0", "\0", "\ud800", "a\udfff", "x" * 1025, "é" * 600])
def test_no_id_begins_with_what_no_id_can_have(prefix: str, emails: Queue[Any]) -> None:
    add_all(emails, ["a", "x" * 1024, "é" * 512])
    emails.add("without an id")

    assert emails.list(prefix=prefix) == JobPage([], None)


def test_a_prefix_of_all_of_the_longest_id_finds_it(emails: Queue[Any]) -> None:
    add_all(emails, ["é" * 512])

    assert ids(emails.list(prefix="é" * 512)) == ["é" * 512]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_pages_of_a_prefix_join(limit: int, emails: Queue[Any]) -> None:
    add_all(emails, ["a", "chat:1", "chat:2", "chat:3", "d"])
    emails.add("without an id")

    assert [job.id for page in pages(emails, prefix="chat:", limit=limit) for job in page.jobs] == [
        "chat:1", "chat:2", "chat:3",
    ]  # fmt: skip


# Failed ones.


@pytest.fixture
def failures(emails: Queue[Any], hand: Hand, clock: Clock) -> Queue[Any]:
    """Seven failed jobs, which failed in the order of their numbers: two without ids, the last three at one instant."""
    for number, id in enumerate(["b:0", "a:1", None, "b:3", "b:4", None, "a:6"]):
        emails.add(number, id=id)
        if number < 5:
            clock.advance("1s")
        hand.end(hand.take_one(emails), "failed", "no luck")
    emails.add("another", id="b:9")
    return emails


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_failed_jobs_come_latest_end_first_over_all_pages(limit: int, failures: Queue[Any]) -> None:
    found = [page.jobs for page in pages(failures, state="failed", limit=limit)]

    assert [job.value for jobs in found for job in jobs] == [6, 5, 4, 3, 2, 1, 0]
    assert all(len(jobs) == limit for jobs in found[:-1])


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_failed_jobs_of_a_prefix_come_latest_end_first_too(limit: int, failures: Queue[Any]) -> None:
    found = [job.value for page in pages(failures, state="failed", prefix="b:", limit=limit) for job in page.jobs]

    assert found == [4, 3, 0]


def test_a_page_of_failed_jobs_goes_on_where_it_ended_though_more_have_failed(failures: Queue[Any], hand: Hand) -> None:
    first = failures.list(state="failed", limit=3)
    hand.end(hand.take_one(failures), "failed", "no luck")

    second = failures.list(state="failed", limit=3, after=first.next)

    assert [job.value for job in second.jobs] == [3, 2, 1]
