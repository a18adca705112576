"""A row that says what no job's can: told once, and as far as it goes shown, run or failed; nobody else's trouble."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.byhand import Hand, after, how, row, us
from tests.damaged import DEEP, damages, insert
from tests.lifecycle.limited import add, took
from tests.lifecycle.lists import ids, pages
from tinystore_django import Backoff, Concurrency, LastRun, Queue, Store, models
from tinystore_django.databases.rows import Sum
from tinystore_django.lifecycle import asides, flaws, leasing, reading, settling, stepping
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.clearing import clear
from tinystore_django.lifecycle.scheduling import open_all
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.lifecycle.sighting import first, look
from tinystore_django.lifecycle.tallying import add_up, last_hour
from tinystore_django.testing import Clock
from tinystore_django.timing.clock import EARLIEST, LATEST
from tinystore_django.timing.repeats import read

pytestmark = pytest.mark.django_db
MOST, HUGE = 2**31 - 1, 9 * 10**18
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    flaws._told.clear()


def change(**about: Any) -> None:
    """Changes the job "x" by hand."""
    assert models.Job.objects.filter(key="x").update(**about) == 1


@pytest.mark.parametrize(
    ("damage", "why"),
    [({"attempt": MOST}, MOST), ({"attempt": MOST - 1}, MOST), ({"attempt": -5}, -4)],
)
def test_a_job_whose_attempt_cannot_be_fails_with_the_reason_and_the_others_run(
    damage: Any, why: int, shop: Store, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    queue, ran = shop.queue("plain"), list[Any]()
    queue.add("a", id="x")
    queue.add("b")
    change(**damage)

    assert queue.run_due(ran.append) == 2

    assert ran == ["b"]
    assert how(queue.get("x")) == ("failed", why, f"its row is damaged: attempt {why}")
    assert caplog.text.count(f"plain id=x attempt={why}: its row is damaged") == 1


@pytest.mark.parametrize(("due", "kept"), [(HUGE, LAST), (LATEST + 1, LAST), (-HUGE, datetime.min.replace(tzinfo=UTC))])
def test_a_job_that_was_due_outside_the_calendar_fails_with_the_reason(
    due: int, kept: datetime, emails: Queue[Any]
) -> None:
    emails.add("a", id="x")
    change(due=due)

    assert emails.run_due(lambda value: None) == 1

    assert how(emails.get("x")) == ("failed", 1, f"its row is damaged: due {due}")
    assert row(key="x").due == kept


def test_a_repeating_one_goes_on_at_its_next_tick(emails: Queue[Any]) -> None:
    emails.set("x", "a", at=after(), every="1h")
    change(attempt=-7)

    emails.run_due(lambda value: None)

    assert how(emails.get("x")) == ("scheduled", 0, "its row is damaged: attempt -6")


def test_a_run_number_at_its_most_begins_anew_below_all_before_it(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")
    change(run=MOST)

    held = hand.take_one(emails)
    stepping.keep("default", held.fence, "one", "1")

    assert held.run == -(2**31)
    assert hand.end(held, "retry", delay=0, kept_steps=True) == "retry"
    again = hand.take_one(emails)
    assert again.run == -(2**31) + 1
    assert hand.end(held) is None
    assert hand.end(again) == "done"
    assert not models.Step.objects.exists()


@pytest.mark.parametrize("damage", [{"lease": None}, {"started_at": None}, {"lease": None, "started_at": None}])
def test_a_running_job_that_was_freed_by_hand_is_taken_back(
    damage: Any, emails: Queue[Any], hand: Hand, clock: Clock
) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    models.Lease.objects.all().delete()
    change(**damage)

    lost = leasing.sweep("default", lambda queue: None)

    assert [*lost.values()] == ["lost"]
    assert how(emails.get("x")) == ("waiting", 1, "the worker was lost")
    assert hand.end(held) is None


@pytest.mark.parametrize("next_at", [HUGE, -HUGE])
def test_an_extra_run_outside_the_calendar_keeps_no_run_from_its_settle(
    next_at: int, emails: Queue[Any], hand: Hand
) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    change(next_at=next_at)

    assert hand.end(held) == "done"

    job = emails.get("x")
    assert job is not None
    assert job.at == (LAST if next_at > 0 else datetime.min.replace(tzinfo=UTC))


def test_a_run_that_no_rule_fits_is_settled_as_failed_and_those_beside_it_as_they_ended(
    emails: Queue[Any], hand: Hand, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = settling.aftermath

    def breaking(held: Any, *about: Any) -> Any:
        if held.key == "x":
            raise ZeroDivisionError("what nobody thought of")
        return real(held, *about)

    monkeypatch.setattr(settling, "aftermath", breaking)
    emails.add("a", id="x")
    emails.add("b", id="y")
    both = [Finished(held, Ending("retry", "no", delay=0), None) for held in hand.take(emails, 2)]

    assert [*settle("default", both).outcomes.values()] == ["failed", "retry"]

    assert how(emails.get("x")) == ("failed", 0, "its row is damaged: what nobody thought of")
    assert "ZeroDivisionError" in caplog.text


LOGS = ["", "junk", "[[1]]", "[[1,-1]]", '[["a",1]]', "[[null,null]]", "{}", "[NaN]", DEEP, f"[[{'9' * 5_000},1]]"]


@pytest.mark.parametrize("log", LOGS, ids=range(len(LOGS)))
def test_a_log_of_starts_that_does_not_read_is_begun_anew(
    log: str, shop: Store, hand: Hand, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    rated = shop.queue("emails", rate="2/s", group_rate="1/s")
    add(rated, "a1 a2 b1 b2")
    models.Queue.objects.create(name="emails", starts=log)
    models.Group.objects.create(queue="emails", group="a", starts=log, free_at=0, until=us(after(hours=1)))

    assert took(hand, rated) == "a1 b1"
    assert took(hand, rated) == ""

    assert models.Queue.objects.get().starts == f"[[{us(after())},2]]"
    assert caplog.text.count("the log of starts") == 1


def test_who_watches_the_others_sees_them_whatever_one_row_raises(
    shop: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue = shop.queue("plain")
    for id in "xy":
        queue.add(1, id=id, delay="1h")
    sights: Any = {id: first("default", "plain", id, queue._declaration.codec, None) for id in "xy"}
    for id in "xy":
        queue.update(id, 2, delay="2h")
    real = reading.due_at

    def breaking(one: Any) -> Any:
        return 1 / 0 if one.key == "x" else real(one)

    monkeypatch.setattr(reading, "due_at", breaking)

    assert look("default", sights).news.keys() == {"y"}
    assert ids(queue.list()) == ["y"]
    assert caplog.text.count("division by zero\n") == 2  # the line, and the error below it: once


def test_a_job_of_no_state_is_shown_as_failed_and_can_be_set_and_cancelled(
    emails: Queue[Any], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    emails.add("a", id="x")
    change(state=7)

    assert how(emails.get("x")) == ("failed", 0, "its row is damaged: state 7")
    assert how(emails.get("x")) == how(emails.get("x"))
    assert caplog.text.count("state 7") == 1
    emails.set("x", "b")
    assert how(emails.get("x")) == ("waiting", 0, None)
    change(state=-1)
    assert emails.cancel("x")


def test_what_only_half_is_there_is_not_shown(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    for progress in (DEEP, "{", "9" * 5_000, '{"done":1e999}', "[" * 250 + "]" * 250):
        models.Progress.objects.update_or_create(job=held.id, defaults={"run": held.run, "progress": progress})
        change(last_started_at=None, last_ended_at=after())

        job = emails.get("x")

        assert job is not None
        assert (job.progress, job.last_run) == (None, None)


def test_a_run_that_ended_before_it_started_is_shown(emails: Queue[Any]) -> None:
    emails.add("a", id="x")
    change(last_started_at=HUGE, last_ended_at=-HUGE)

    job = emails.get("x")

    assert job is not None
    assert job.last_run == LastRun(LAST, datetime.min.replace(tzinfo=UTC))


@pytest.mark.parametrize("ended", [HUGE, -HUGE])
def test_pages_of_failed_jobs_go_over_each_once_whenever_they_ended(ended: int, emails: Queue[Any], hand: Hand) -> None:
    for id in "abxcd":
        emails.add(id, id=id)
        hand.end(hand.take_one(emails), "failed")
    models.Job.objects.filter(key__in=["x", "c"]).update(ended_at=ended)
    change(ended_at=ended - 1)

    found = [id for page in pages(emails, state="failed", limit=1) for id in ids(page)]

    assert sorted(found) == ["a", "b", "c", "d", "x"]


@pytest.mark.parametrize("damage", [{"at": HUGE, "due": HUGE}, {"at": -HUGE}, {"state": 9}, {"state": 4, "at": HUGE}])
def test_a_schedules_row_that_would_never_come_is_opened_anew(damage: Any, shop: Store, clock: Clock) -> None:
    cleanup, hourly = shop.schedule("cleanup", cron="0 * * * *", time_zone="UTC"), read("0 * * * * UTC")
    open_all("default", {"cleanup": hourly})
    models.Job.objects.update(**damage)

    open_all("default", {"cleanup": hourly})

    job = cleanup.get()
    assert job is not None
    assert (job.state, job.at) == ("scheduled", after(hours=1))


def test_sums_that_their_columns_cannot_hold_are_left_and_never_below_nothing(clock: Clock) -> None:
    models.Minute.objects.create(queue="a", minute=us(after()), started=2**63 - 1, failed=-5, longest_wait=-1)

    add_up("default", [Sum("a", 1, 1, 0), Sum("b", 1, 0, 0)])

    hours = last_hour("default", ["a", "b"])
    assert (hours["a"][-1], hours["b"][-1]) == (Sum("a", 2**63 - 1, 0, 0), Sum("b", 1, 0, 0))


def test_a_job_that_waited_since_before_the_calendar_is_no_longer_wait_than_a_column_holds(shop: Store) -> None:
    queue = shop.queue("plain", backoff=Backoff("1h", "1h"))
    queue.add("a", id="x")
    change(at=-(2**63))

    assert queue.run_due(lambda value: None) == 1

    assert models.Minute.objects.get().longest_wait == LATEST - EARLIEST + 1


def test_what_is_wrong_is_told_once_of_each_row(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for name in ("one", "other", "one\x1b[31m", "one"):
            flaws.tell(name, "broken")

    assert [one.getMessage() for one in caplog.records] == ["one: broken", "other: broken", "one\\x1b[31m: broken"]


@pytest.mark.parametrize("damage", list(damages(models.Queue, "cancelled_at", "paused_at")), ids=str)
def test_a_limited_queue_whose_row_is_damaged_starts_and_brings_back_what_it_may(
    damage: Any, shop: Store, hand: Hand, clock: Clock
) -> None:
    limited = shop.queue("emails", rate="100/s", group_rate="100/s", concurrency=Concurrency(total=50, group=2))
    options = {"emails": limited._declaration.options}
    add(limited, "a1 a2 a3 -1")
    models.Queue.objects.all().delete()
    insert("tinystore_django_queue", {"name": "emails", "starts": "[]", "refill_at": 0, **damage})

    assert took(hand, limited) == "a1 a2 -1"
    asides.tend("default", options)
    asides.look("default", options)


@pytest.mark.parametrize("damage", list(damages(models.Group, "queue", "group")), ids=str)
def test_a_group_whose_row_is_damaged_holds_up_no_other_group(
    damage: Any, shop: Store, hand: Hand, clock: Clock
) -> None:
    limited = shop.queue("emails", group_rate="1/s")
    add(limited, "a1 a2 b1")
    log = {"queue": "emails", "group": "a", "starts": "[]", "until": us(after(hours=1)), "free_at": us(after())}
    insert("tinystore_django_group", {**log, **damage})

    assert "b1" in took(hand, limited)
    asides.tend("default", {"emails": limited._declaration.options})
    clock.advance("1h")
    while clear("default"):
        pass
    add(limited, "c1")
    assert "c1" in took(hand, limited)


@pytest.mark.parametrize("damage", list(damages(models.Lease)), ids=str)
def test_a_damaged_lease_keeps_no_other_worker_from_its_own(damage: Any, hand: Hand, clock: Clock) -> None:
    about = {"name": "host:1", "queues": "emails", "started_at": us(after()), "expires_at": us(after(seconds=9))}
    insert("tinystore_django_lease", {**about, **damage})

    renewal = leasing.renew("default", hand.lease, 30_000_000)
    leasing.sweep("default", lambda queue: None)

    assert renewal is not None
    assert renewal.next_expiry is None or isinstance(renewal.next_expiry, int | float)
    assert models.Lease.objects.filter(pk=hand.lease).exists()
