"""add: a job unless its id is taken; its time, its transaction, its refusals."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import override_settings

from tests.byhand import ALONE_OR_IN_A_BLOCK, NOON, Hand, after, rolled_back, row
from tests.project.models import Order
from tinystore_django import InvalidError, LimitError, Queue, Store, TinystoreError, models
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
NEW_YORK = ZoneInfo("America/New_York")


# Its transaction.


@pytest.mark.django_db(transaction=True)
def test_a_job_added_in_a_transaction_commits_with_its_rows(emails: Queue[Any]) -> None:
    with transaction.atomic():
        Order.objects.create(email="ada")
        assert emails.add("ada", id="o7") is True

    assert Order.objects.count() == 1
    assert emails.get("o7") is not None


@pytest.mark.django_db(transaction=True)
def test_a_job_added_in_a_transaction_is_gone_with_its_rollback(emails: Queue[Any]) -> None:
    done: list[str] = []
    with rolled_back():
        Order.objects.create(email="ada")
        assert emails.add("a", id="o7") is True

    assert (Order.objects.count(), emails.get("o7"), emails.run_due(done.append)) == (0, None, 0)
    assert emails.add("b", id="o7") is True
    assert emails.run_due(done.append) == 1
    assert done == ["b"]


def test_a_row_deleted_in_the_same_transaction_leaves_its_id_free_in_it(emails: Queue[Any]) -> None:
    emails.add("a", id="x")
    with transaction.atomic():
        emails.cancel("x")
        assert emails.add("b", id="x") is True
    assert emails.get("x").value == "b"  # type: ignore[union-attr]


# Its time.


@pytest.mark.parametrize("delay", ["90s", timedelta(seconds=90), "1m30s"])
def test_a_delay_counts_from_now_exactly(delay: Any, emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x", delay=delay)

    clock.set(after(seconds=90) - timedelta(microseconds=1))
    before = emails.get("x").state  # type: ignore[union-attr]
    clock.set(after(seconds=90))

    assert (before, emails.get("x").state, row().at) == ("scheduled", "waiting", after(seconds=90))  # type: ignore[union-attr]


@pytest.mark.parametrize("microsecond", [0, 1, 999_999, 123_456])
@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Asia/Kolkata"), timezone(timedelta(seconds=3601))])
def test_a_time_is_kept_to_the_microsecond_whatever_its_zone(microsecond: int, zone: Any, emails: Queue[Any]) -> None:
    at = datetime(2031, 5, 4, 3, 2, 1, microsecond, zone)

    emails.add("a", id="x", at=at)

    assert emails.get("x").at == at  # type: ignore[union-attr]


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_first_and_the_last_instant_that_can_be_written_are_kept(at: datetime, emails: Queue[Any]) -> None:
    emails.add("a", id="x", at=at)

    assert emails.get("x").at == at  # type: ignore[union-attr]


def test_jobs_start_in_the_order_of_their_times_then_of_their_insertion(emails: Queue[Any], hand: Hand) -> None:
    for name, seconds in [("now", 0), ("past", -60), ("also now", 0), ("long past", -3600)]:
        emails.add(name, at=after(seconds=seconds))
    emails.add("future", at=after(seconds=1))

    assert [held.value for held in hand.take(emails, 10)] == ['"long past"', '"past"', '"now"', '"also now"']


@override_settings(USE_TZ=False, TIME_ZONE="America/New_York")
@pytest.mark.parametrize(
    ("naive", "fold", "instant"),
    [
        (datetime(2026, 7, 1, 8), 0, "2026-07-01T12:00Z"),
        (datetime(2026, 11, 1, 1, 30), 0, "2026-11-01T05:30Z"),  # the hour that comes twice
        (datetime(2026, 11, 1, 1, 30), 1, "2026-11-01T06:30Z"),
        (datetime(2026, 3, 8, 2, 30), 0, "2026-03-08T07:00Z"),  # the hour that never comes
    ],
)
def test_without_use_tz_a_naive_time_is_the_projects_own(
    naive: datetime, fold: int, instant: str, emails: Queue[Any]
) -> None:
    emails.add("a", id="x", at=naive.replace(fold=fold))

    assert emails.get("x").at == datetime.fromisoformat(instant)  # type: ignore[union-attr]


@override_settings(USE_TZ=False, TIME_ZONE="America/New_York")
def test_without_use_tz_an_aware_time_is_the_instant_it_says(emails: Queue[Any]) -> None:
    emails.add("a", id="x", at=datetime(2026, 7, 1, 8, tzinfo=NEW_YORK))
    emails.add("b", id="y", delay="10s")

    assert row(key="x").at == datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert emails.get("x").at.tzinfo is not None  # type: ignore[union-attr]


def test_a_change_of_use_tz_leaves_the_kept_instants(emails: Queue[Any]) -> None:
    with override_settings(USE_TZ=False, TIME_ZONE="America/New_York"):
        emails.add("a", id="x", at=datetime(2026, 7, 1, 8))
    with override_settings(USE_TZ=True, TIME_ZONE="Asia/Tokyo"):
        at = emails.get("x").at  # type: ignore[union-attr]

    assert at == datetime(2026, 7, 1, 12, tzinfo=UTC)


@override_settings(USE_TZ=False, TIME_ZONE="America/New_York")
def test_over_the_hour_that_comes_twice_no_job_is_early_late_or_run_twice(emails: Queue[Any], clock: Clock) -> None:
    start = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    clock.set(start)
    for minute in range(0, 130, 10):
        emails.add(minute, at=start + timedelta(minutes=minute))
    ran: list[tuple[int, datetime]] = []

    for minute in range(0, 130, 10):
        clock.set(start + timedelta(minutes=minute))
        emails.run_due(lambda value: ran.append((value, clock.now)))

    assert ran == [(minute, start + timedelta(minutes=minute)) for minute in range(0, 130, 10)]


# Its repeat.


def test_a_repeating_job_starts_at_its_next_tick_or_at_the_time_given(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="r", every="30s")
    emails.add("a", id="a", cron="0 13 * * *", time_zone="UTC", at=after(minutes=1))

    assert row(key="r").at == after(seconds=18.005)
    assert (row(key="a").at, row(key="a").repeat) == (after(minutes=1), "0 13 * * * UTC")


@override_settings(TIME_ZONE="Europe/Berlin")
def test_a_cron_without_a_zone_is_the_projects_own(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="r", cron="10 3 * * *")

    assert row().repeat == "10 3 * * * Europe/Berlin"
    assert row().at == datetime(2026, 3, 2, 2, 10, tzinfo=UTC)


# Its refusals.

BAD = [
    ({"at": datetime(2026, 3, 1)}, "has no time zone: write timezone.make_aware"),
    ({"at": "2026-03-01"}, "at '2026-03-01': give a datetime"),
    ({"at": NOON, "delay": "1s"}, "give one of them"),
    ({"at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))}, "within the years 1 to 9999"),
    ({"delay": "9000w"}, None),
    ({"delay": timedelta.max}, "within the year 9999"),
    ({"delay": timedelta(seconds=-1)}, "delay"),
    ({"delay": 5}, "delay 5: give a timedelta"),
    *(
        ({"delay": text}, "write it as")
        for text in ("1m30", "30m1h", "1.5h", "-5s", "", "5 s", " 5s", "1y", "1m1m", "\u0665s")
    ),
    ({"group": ""}, "group ''"),
    ({"group": "a\0"}, "take out U.0000"),
    ({"group": "g" * 1025}, "1 to 1,024 bytes"),
    ({"every": "1h", "cron": "* * * * *"}, "give one of them"),
    ({"every": "500ms"}, "at least 1s"),
    ({"time_zone": "UTC"}, "without cron"),
    ({"cron": "10 3 * *"}, "cron"),
    ({"cron": "* * * * *", "time_zone": "Mars/Olympus"}, "Mars/Olympus"),
    ({"cron": "0 0 30 2 *"}, "cron"),
]
REFUSED = [(about, says) for about, says in BAD if says]


@pytest.mark.parametrize(("about", "says"), REFUSED)
@pytest.mark.parametrize("call", ["add", "set", "update"])
def test_bad_timing_is_refused_by_each_call_with_the_id_taken_and_breaks_no_transaction(
    call: str, about: Any, says: str, emails: Queue[Any]
) -> None:
    emails.add("old", id="x")
    arguments = {"add": lambda: emails.add("new", id="x", **about)}
    for name in ("set", "update"):
        arguments[name] = lambda name=name: getattr(emails, name)("x", "new", **about)

    with transaction.atomic():
        with pytest.raises(InvalidError, match=says):
            arguments[call]()
        assert emails.get("x").value == "old"  # type: ignore[union-attr]
    assert models.Job.objects.count() == 1


@pytest.mark.parametrize("id", ["", "a\0b", "x" * 1025, "é" * 513, "\ud800"])
def test_an_id_that_cannot_be_is_refused_by_add_set_and_update_and_found_by_nobody(id: Any, emails: Queue[Any]) -> None:
    for call in (lambda: emails.add("a", id=id), lambda: emails.set(id, "a"), lambda: emails.update(id, "a")):
        with pytest.raises(InvalidError, match="^id "):
            call()

    assert (emails.get(id), emails.cancel(id)) == (None, False)
    assert not models.Job.objects.exists()


@pytest.mark.parametrize("id", [7, None, b"x", 1.0, ["x"], object()])
def test_an_id_that_is_no_text_is_refused_by_all_that_take_one(id: Any, emails: Queue[Any]) -> None:
    calls: list[Callable[[], object]] = [lambda: emails.get(id), lambda: emails.cancel(id)]
    calls += [lambda: emails.set(id, "a"), lambda: emails.update(id, "a")]
    calls += [lambda: async_to_sync(emails.aget)(id), lambda: async_to_sync(emails.acancel)(id)]
    for call in calls:
        with pytest.raises(InvalidError, match="^id "):
            call()


@pytest.mark.parametrize("id", ["x" * 1024, "é" * 512, "%_\\'\"", "🐍", " "])
def test_an_id_of_any_text_up_to_1024_bytes_is_found_again(id: str, emails: Queue[Any]) -> None:
    assert emails.add("a", id=id)
    assert not emails.add("b", id=id)
    assert emails.get(id).id == id  # type: ignore[union-attr]


def test_ids_are_a_queues_own(emails: Queue[Any], shop: Store) -> None:
    other = shop.queue("other")

    assert emails.add("a", id="x")
    assert other.add("b", id="x")
    assert other.get("x").value == "b"  # type: ignore[union-attr]


def test_a_repeat_needs_an_id(emails: Queue[Any]) -> None:
    with pytest.raises(InvalidError, match="a repeat needs an id"):
        emails.add("a", every="1h")


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (Order(pk=7), InvalidError, "pk"),
        ({1: "a"}, InvalidError, "value"),
        (float("nan"), InvalidError, "value"),
        ("a\0b", InvalidError, "U.0000"),
        ("x" * 2**20, LimitError, "value"),
        (NOON, InvalidError, "give the queue a type"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_and_breaks_no_transaction(
    value: Any, error: type[TinystoreError], says: str, emails: Queue[Any]
) -> None:
    with transaction.atomic():
        for call in (lambda: emails.add(value), lambda: emails.set("x", value), lambda: emails.update("x", value)):
            with pytest.raises(error, match=says):
                call()
        assert not models.Job.objects.exists()


def test_a_value_of_a_mebibyte_is_kept(emails: Queue[Any]) -> None:
    emails.add("x" * (2**20 - 2), id="x")

    assert len(emails.get("x").value) == 2**20 - 2  # type: ignore[union-attr]


# max_waiting.


@pytest.fixture
def full(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue for two jobs, which has them: one waiting, one scheduled."""
    queue = shop.queue("full", max_waiting=2, dedupe="1h")
    queue.add("a", id="a")
    queue.add("b", id="b", delay="1h")
    return queue


@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
def test_a_full_queue_refuses_one_job_more_and_breaks_no_transaction(
    full: Queue[Any], block: Callable[[], AbstractContextManager[Any]]
) -> None:
    with block():
        for call in (lambda: full.add("c"), lambda: full.add("c", id="c"), lambda: full.set("c", "c")):
            with pytest.raises(LimitError, match="holds 2 jobs that have not started"):
                call()
        assert models.Job.objects.count() == 2


def test_a_full_queue_says_false_to_an_id_that_is_taken_and_changes_what_it_has(full: Queue[Any]) -> None:
    full.set("b", "b2")

    assert (full.add("a2", id="a"), full.update("a", "a3"), full.get("b").value) == (False, True, "b2")  # type: ignore[union-attr]


def test_a_full_queue_refuses_to_add_a_done_job_again(full: Queue[Any], hand: Hand) -> None:
    hand.end(hand.take_one(full))
    full.add("c")

    with pytest.raises(LimitError):
        full.set("a", "again")

    assert full.add("again", id="a") is False
    assert full.get("a").state == "done"  # type: ignore[union-attr]


def test_an_id_that_a_refused_add_would_have_taken_over_keeps_its_job(
    full: Queue[Any], hand: Hand, clock: Clock
) -> None:
    hand.end(hand.take_one(full))
    full.add("c")
    clock.advance("1h")

    with pytest.raises(LimitError):
        full.add("again", id="a")

    assert not models.Job.objects.get(key="a").released
    full.cancel("b")
    assert full.add("again", id="a") is True


def test_a_full_queue_takes_back_a_retry_and_gives_a_running_job_one_run_more(full: Queue[Any], hand: Hand) -> None:
    held = hand.take_one(full)
    full.add("c")
    full.set("a", "a2")

    assert hand.end(held, "retry", "no luck") == "retry"
    assert models.Job.objects.filter(state=models.Job.State.READY).count() == 3


def test_jobs_that_run_or_have_ended_leave_room(full: Queue[Any], hand: Hand) -> None:
    hand.take_one(full)

    assert full.add("c") is True
