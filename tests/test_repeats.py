"""A repeating job's life, in a queue: its ticks, its retries, and what add, set, update and cancel make of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.byhand import Hand, after
from tinystore_django import Backoff, InvalidError, Job, Queue, Run, Store, models
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
HOURLY = {"cron": "0 * * * *", "time_zone": "UTC"}
# Berlin's two nights of 2026, from 23:30 UTC to 02:30 UTC: each cron's runs, in UTC.
NIGHTS = {
    "0 1 * * *": ("00:00", ""),
    "59 1 * * *": ("00:59", "23:59"),
    "0 2 * * *": ("01:00", "00:00"),
    "30 2 * * *": ("01:00", "00:30"),
    "59 2 * * *": ("01:00", "00:59"),
    "0 3 * * *": ("01:00", "02:00"),
    "30 3 * * *": ("01:30", "02:30"),
    "15 1-3 * * *": ("00:15 01:00 01:15", "00:15 02:15"),
    "*/20 2 * * *": ("01:00", "00:00 00:20 00:40"),
    "*/30 * * * *": ("00:00 00:30 01:00 01:30 02:00 02:30", "00:00 00:30 02:00 02:30"),
    "0 * * * *": ("00:00 01:00 02:00", "00:00 02:00"),
    "5,35 2,3 * * *": ("01:00 01:05 01:35", "00:05 00:35 02:05"),
    "0 0 * * *": ("", ""),
    "0 2 * * SUN": ("01:00", "00:00"),
    "30 2 25 10 *": ("", "00:30"),
    "30 2 29 3 *": ("01:00", ""),
    "0 */2 * * *": ("01:00 02:00", "00:00"),
    "45 */3 * * *": ("23:45 01:45", ""),
    "10 2-3 * * SAT": ("", ""),
    "1 3 * * 0": ("01:01", "02:01"),
}


@pytest.fixture
def reports(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("reports", attempts=3, backoff=Backoff("10m", "10m"))


@pytest.fixture
def running(reports: Queue[Any], hand: Hand) -> Any:
    """An hourly job whose run has begun at noon."""
    reports.add("old", id="x", at=after(), **HOURLY)
    return hand.take_one(reports)


def job(queue: Queue[Any], id: str = "x") -> Job[Any]:
    found = queue.get(id)
    assert found is not None
    return found


# Its first run, and its ticks


@pytest.mark.parametrize(("given", "first"), [({}, 60), ({"delay": "5m"}, 5), ({"delay": "3h"}, 180)])
def test_its_first_run_is_at_the_next_tick_or_the_time_given_and_then_come_its_ticks(
    given: dict[str, Any], first: int, reports: Queue[Any], clock: Clock
) -> None:
    reports.add("a", id="x", **HOURLY, **given)
    added = job(reports).at
    clock.set(added)
    reports.run_due(lambda value: None)

    assert added == after(minutes=first)
    assert job(reports).at == after(hours=first // 60 + 1)


def test_a_first_run_in_the_past_is_due_at_once_and_run_at_is_that_time(reports: Queue[Any]) -> None:
    times: list[datetime] = []
    reports.add("a", id="x", at=after(days=-3), **HOURLY)

    assert reports.run_due(lambda value, run: times.append(run.at)) == 1

    assert (times, job(reports).at) == ([after(days=-3)], after(hours=1))


def test_each_tick_is_a_fresh_job(reports: Queue[Any], clock: Clock) -> None:
    reports.add("a", id="x", **HOURLY)
    seen: list[tuple[datetime, int]] = []

    def handle(value: str, run: Run) -> None:
        seen.append((run.at, run.attempt))
        models.Step.objects.create(job=models.Job.objects.get().pk, name="render", answer="1")

    models.Job.objects.update(run=1)  # a later run, so that it may have steps
    for hours in (1, 2, 3):
        clock.set(after(hours=hours))
        reports.run_due(handle)

    assert seen == [(after(hours=hours), 1) for hours in (1, 2, 3)]
    assert not models.Step.objects.exists()


@pytest.mark.parametrize(("night", "start"), [(0, datetime(2026, 3, 28, 23, 30)), (1, datetime(2026, 10, 24, 23, 30))])
def test_walked_minute_by_minute_the_two_nights_a_year_run_each_cron_as_its_zone_says(
    night: int, start: datetime, reports: Queue[Any], clock: Clock
) -> None:
    start = start.replace(tzinfo=UTC)
    clock.set(start)
    ran: dict[str, list[str]] = {expression: [] for expression in NIGHTS}
    for expression in NIGHTS:
        reports.add(expression, id=expression, cron=expression, time_zone="Europe/Berlin")

    def handle(expression: str, run: Run) -> None:
        assert run.at == clock.now
        ran[expression].append(f"{run.at:%H:%M}")

    for minute in range(1, 181):
        clock.set(start + timedelta(minutes=minute))
        reports.run_due(handle)

    assert {expression: " ".join(times) for expression, times in ran.items()} == {
        expression: nights[night] for expression, nights in NIGHTS.items()
    }


# Failing


def test_a_failing_one_retries_by_backoff_and_then_waits_for_its_next_tick_with_its_error(
    reports: Queue[Any], clock: Clock
) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("1h")
    attempts: list[tuple[datetime, int]] = []

    def fail(value: str, run: Run) -> None:
        attempts.append((run.at, run.attempt))
        raise ValueError(f"no luck {run.attempt}")

    reports.run_due(fail)
    waits = job(reports)
    for _ in range(2):
        clock.set(job(reports).at)
        reports.run_due(fail)

    assert (waits.attempt, waits.error, waits.state) == (1, "no luck 1", "scheduled")
    assert after(hours=1, minutes=9) <= waits.at <= after(hours=1, minutes=11)
    assert attempts == [(after(hours=1), 1), (after(hours=1), 2), (after(hours=1), 3)]
    ended = job(reports)
    assert (ended.at, ended.attempt, ended.error, ended.state) == (after(hours=2), 0, "no luck 3", "scheduled")


def test_its_error_goes_with_a_good_run(reports: Queue[Any], clock: Clock) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("1h")
    reports.run_due(lambda value, run: run.fail("no luck"))
    failed = job(reports)
    clock.advance("1h")

    reports.run_due(lambda value: None)

    assert (failed.at, failed.attempt, failed.error, failed.state) == (after(hours=2), 0, "no luck", "scheduled")
    assert (job(reports).at, job(reports).error) == (after(hours=3), None)


@pytest.mark.parametrize(("delay", "at"), [("59m", 119), ("60m", 120), ("5h", 120)])
def test_a_retry_comes_no_later_than_the_next_tick_and_is_still_the_same_run(
    delay: str, at: int, reports: Queue[Any], clock: Clock
) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("1h")
    reports.run_due(lambda value, run: run.retry(delay))
    waits = job(reports)
    clock.set(waits.at)
    seen: list[tuple[datetime, int]] = []

    reports.run_due(lambda value, run: seen.append((run.at, run.attempt)))

    assert (waits.at, waits.attempt) == (after(minutes=at), 1)
    assert seen == [(after(hours=1), 2)]


def test_a_snooze_may_pass_the_next_tick(reports: Queue[Any], clock: Clock) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("1h")

    reports.run_due(lambda value, run: run.snooze("5h"))

    assert (job(reports).at, job(reports).attempt) == (after(hours=6), 0)


def test_a_lost_run_is_due_again_at_once_and_after_the_last_attempt_at_its_next_tick(
    reports: Queue[Any], hand: Hand
) -> None:
    reports.add("a", id="x", at=after(), **HOURLY)
    states = []
    for _ in range(3):
        hand.end(hand.take_one(reports), "lost", "the worker was lost")
        states.append((job(reports).at, job(reports).attempt, job(reports).error))

    assert states[:2] == [(after(), 1, "the worker was lost"), (after(), 2, "the worker was lost")]
    assert states[2] == (after(hours=1), 0, "the worker was lost")


# set, update and cancel


@pytest.mark.parametrize(
    ("given", "at"),
    [({}, 90), ({"every": None, "delay": "5m"}, 95), ({"cron": "45 * * * *", "time_zone": "UTC"}, 105)],
)
def test_set_makes_it_due_at_the_time_given_else_now_or_at_its_new_repeats_next_tick(
    given: dict[str, Any], at: int, reports: Queue[Any], clock: Clock
) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("90m")

    reports.set("x", "b", **given)

    assert (job(reports).value, job(reports).at) == ("b", after(minutes=at))
    assert job(reports).repeat == ("45 * * * * UTC" if "cron" in given else "0 * * * * UTC")


@pytest.mark.parametrize(("given", "at"), [({}, 60), ({"delay": "5m"}, 35), ({"cron": "45 * * * *"}, 45)])
def test_update_leaves_its_time_unless_one_or_a_repeat_is_given(
    given: dict[str, Any], at: int, reports: Queue[Any], clock: Clock
) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("30m")

    assert reports.update("x", "b", **given) is True

    assert (job(reports).value, job(reports).at) == ("b", after(minutes=at))


def test_update_makes_a_plain_job_repeat(reports: Queue[Any], clock: Clock) -> None:
    reports.add("a", id="x")
    reports.update("x", "a", **HOURLY)
    clock.advance("1h")

    reports.run_due(lambda value: None)

    assert job(reports).at == after(hours=2)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ({}, 0),
        ({"delay": "10m"}, 10),
        ({"delay": "2h"}, 60),
        ({"cron": "45 * * * *", "time_zone": "UTC"}, 0),
        ({"cron": "45 * * * *", "time_zone": "UTC", "delay": "50m"}, 45),
    ],
)
def test_set_while_it_runs_gives_one_run_more_no_later_than_its_next_tick(
    given: dict[str, Any], at: int, running: Any, reports: Queue[Any], hand: Hand
) -> None:
    reports.set("x", "new", **given)

    hand.end(running)

    assert (job(reports).value, job(reports).at, job(reports).attempt) == ("new", after(minutes=at), 0)


def test_after_the_run_more_come_the_ticks_of_its_new_repeat(
    running: Any, reports: Queue[Any], hand: Hand, clock: Clock
) -> None:
    reports.set("x", "new", cron="45 * * * *", time_zone="UTC")
    hand.end(running)

    hand.end(hand.take_one(reports))

    assert (job(reports).at, job(reports).value) == (after(minutes=45), "new")


def test_a_set_with_a_repeat_of_a_plain_job_that_runs_gives_one_run_more_now_and_then_ticks(
    reports: Queue[Any], hand: Hand
) -> None:
    reports.add("old", id="x")
    held = hand.take_one(reports)

    reports.set("x", "new", **HOURLY)
    hand.end(held)

    assert (job(reports).at, job(reports).repeat) == (after(), "0 * * * * UTC")
    hand.end(hand.take_one(reports))
    assert job(reports).at == after(hours=1)


def test_while_it_runs_add_and_update_are_refused(running: Any, reports: Queue[Any], hand: Hand) -> None:
    answers = reports.add("new", id="x", every="1s"), reports.update("x", "new", every="1s")
    hand.end(running)

    assert answers == (False, False)
    assert (job(reports).value, job(reports).repeat) == ("old", "0 * * * * UTC")


@pytest.mark.parametrize("kind", ["done", "retry", "snoozed", "failed", "lost"])
def test_cancelled_while_it_runs_it_does_not_come_back_however_its_run_ends(
    kind: Any, running: Any, reports: Queue[Any], hand: Hand
) -> None:
    reports.set("x", "new", delay="1m")

    assert reports.cancel("x") is True
    assert hand.end(running, kind, delay=0) == "cancelled"

    assert reports.get("x") is None
    assert not models.Job.objects.exists()


def test_it_keeps_its_id_between_its_runs(reports: Queue[Any], clock: Clock) -> None:
    reports.add("a", id="x", **HOURLY)
    clock.advance("1h")
    reports.run_due(lambda value: None)

    assert reports.add("b", id="x") is False
    assert (reports.cancel("x"), reports.add("b", id="x")) == (True, True)
    assert job(reports).repeat is None


# What cannot be


@pytest.mark.parametrize("call", ["add", "set", "update"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"every": "1h", "cron": "@hourly"}, "^every '1h' with cron '@hourly'"),
        ({"time_zone": "UTC"}, "^time_zone 'UTC' without cron"),
        ({"every": "999ms"}, "^every '999ms': give a span of at least 1s"),
        ({"cron": "0 3 * * * *"}, "^cron '0 3 "),
        ({"cron": "@daily", "time_zone": "Mars/Olympus"}, "^time_zone 'Mars/Olympus'"),
    ],
)
def test_a_repeat_that_cannot_be_is_refused_before_anything_is_looked_at_or_written(
    call: str, given: dict[str, Any], says: str, reports: Queue[Any]
) -> None:
    reports.add("old", id="x")
    calls: dict[str, Callable[[], object]] = {
        "add": lambda: reports.add("new", id="x", **given),
        "set": lambda: reports.set("x", "new", **given),
        "update": lambda: reports.update("x", "new", **given),
    }

    with pytest.raises(InvalidError, match=says):
        calls[call]()

    assert (job(reports).value, job(reports).repeat) == ("old", None)


def test_a_repeat_needs_an_id(reports: Queue[Any]) -> None:
    with pytest.raises(InvalidError, match="^a repeat needs an id"):
        reports.add("a", every="1h")
