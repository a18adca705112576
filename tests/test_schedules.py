"""A schedule's life: opened, run, late, failing, changed by a deploy, cancelled, on clocks that jump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from tests.byhand import NOON, Hand, after
from tests.programs import wait_for
from tinystore_django import InvalidError, Run, Schedule, Store, models, testing
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def times() -> list[datetime]:
    """When each run was due."""
    return []


@pytest.fixture
def declare(times: list[datetime], clock: Clock) -> Iterator[Callable[..., Schedule]]:
    """Declares a schedule as one deploy's code would: each call is a new process's registry."""
    stores: list[Store] = []

    def declare(name: str = "cleanup", run: Callable[[Run], Any] = lambda run: None, **about: Any) -> Schedule:
        for store in stores:
            store._registry.declarations.pop(name, None)
        stores.append(Store())
        schedule = stores[-1].schedule(name, **about)

        @schedule.handler
        def handle(given: Run) -> Any:
            times.append(given.at)
            return run(given)

        return schedule

    yield declare
    for store in stores:
        store._registry.declarations.clear()


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc]


# Opening


def test_before_it_is_opened_there_is_nothing_to_get_or_cancel(declare: Callable[..., Schedule]) -> None:
    cleanup = declare(cron="@hourly")

    assert (cleanup.get(), cleanup.cancel()) == (None, False)
    assert not models.Job.objects.exists()


def test_run_due_opens_it_at_the_next_tick_and_runs_nothing_yet(declare: Callable[..., Schedule]) -> None:
    cleanup = declare(cron="@hourly")

    assert cleanup.run_due() == 0

    job = cleanup.get()
    assert job is not None
    assert (job.state, job.at, job.attempt, job.last_run) == ("scheduled", after(hours=1), 0, None)


@pytest.mark.django_db(transaction=True)
def test_a_worker_opens_it_when_it_starts(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    cleanup = declare(cron="@hourly")

    with cleanup.work():
        opened = cleanup.get()
        clock.advance("1h")
        wait_for(lambda: cleanup.get().last_run)  # type: ignore[union-attr]

    assert opened is not None
    assert (opened.at, times) == (after(hours=1), [after(hours=1)])


def test_the_whole_projects_run_due_opens_it_too(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    declare(cron="@hourly")

    ran = [testing.run_due(), clock.advance("1h"), testing.run_due()]

    assert ran == [0, None, 1]
    assert times == [after(hours=1)]


def test_its_calls_have_async_twins(declare: Callable[..., Schedule], clock: Clock) -> None:
    cleanup = declare(cron="@hourly")

    async def calls() -> tuple[Any, ...]:
        opened = await cleanup.arun_due()
        job = await cleanup.aget()
        return opened, job.at, await cleanup.acancel(), await cleanup.aget()  # type: ignore[union-attr]

    assert async_to_sync(calls)() == (0, after(hours=1), True, None)


@pytest.mark.parametrize("about", [{}, {"every": "1h", "cron": "@hourly"}, {"cron": "0 0 30 2 *"}, {"every": "1ms"}])
def test_a_repeat_that_cannot_be_is_refused_where_it_is_declared(about: dict[str, Any], shop: Store) -> None:
    with pytest.raises(InvalidError, match=r"^(schedule|every|cron) '"):
        shop.schedule("cleanup", **about)


# Late


def test_after_five_hours_down_one_run_makes_up_for_all_of_them(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    clock.set(utc(2026, 3, 1, 0, 0, 30))
    cleanup = declare(cron="0 * * * *", time_zone="UTC")
    cleanup.run_due()
    clock.set(utc(2026, 3, 1, 5, 0, 30))

    assert cleanup.run_due() == 1

    assert times == [utc(2026, 3, 1, 1)]
    assert cleanup.get().at == utc(2026, 3, 1, 6)  # type: ignore[union-attr]


def test_an_interval_that_was_missed_goes_on_on_its_own_grid(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    cleanup = declare(every="10m")
    cleanup.run_due()
    first = cleanup.get().at  # type: ignore[union-attr]
    clock.set(first + timedelta(hours=5, minutes=3))

    assert cleanup.run_due() == 1

    assert times == [first]
    assert cleanup.get().at == first + timedelta(hours=5, minutes=10)  # type: ignore[union-attr]


def test_down_over_the_repeated_hour_it_runs_for_the_first_pass_alone(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    clock.set(utc(2026, 10, 25, 0, 15))
    cleanup = declare(cron="30 2 * * *", time_zone="Europe/Berlin")
    cleanup.run_due()
    clock.set(utc(2026, 10, 25, 1, 45))

    assert cleanup.run_due() == 1

    assert times == [utc(2026, 10, 25, 0, 30)]
    assert cleanup.get().at == utc(2026, 10, 26, 1, 30)  # type: ignore[union-attr]


@pytest.mark.parametrize(("seconds", "next"), [(3599.999999, 2), (3600, 3), (3600.5, 3)])
def test_the_next_tick_is_strictly_after_the_end_of_a_long_run(
    seconds: float, next: int, declare: Callable[..., Schedule], clock: Clock
) -> None:
    cleanup = declare(cron="@hourly", run=lambda run: clock.advance(timedelta(seconds=seconds)))
    cleanup.run_due()
    clock.advance("1h")

    cleanup.run_due()

    assert cleanup.get().at == after(hours=next)  # type: ignore[union-attr]


# Deploys


def test_a_deploy_with_the_same_repeat_leaves_its_time_and_a_missed_run_happens_once(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    declare(cron="@hourly").run_due()
    clock.advance("3h30m")

    again = declare(cron="@hourly")

    assert [again.run_due(), again.run_due()] == [1, 0]
    assert times == [after(hours=1)]


def test_a_deploy_with_another_repeat_waits_for_its_next_tick_from_now(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    declare(cron="@hourly").run_due()
    clock.advance("3h")

    changed = declare(cron="30 * * * *")

    assert changed.run_due() == 0
    assert changed.get().at == after(hours=3, minutes=30)  # type: ignore[union-attr]
    clock.advance("30m")
    assert changed.run_due() == 1
    assert times == [after(hours=3, minutes=30)]


def test_a_deploy_with_another_repeat_starts_a_failing_one_afresh_and_keeps_its_error(
    declare: Callable[..., Schedule], clock: Clock, hand: Hand
) -> None:
    failing = declare(cron="@hourly")
    failing.run_due()
    clock.advance("1h")
    held = hand.take_one(failing)
    models.Step.objects.create(job=held.id, name="render", answer="1")
    hand.end(held, "retry", "no luck", delay=60_000_000)

    changed = declare(every="1h")
    changed.run_due()

    job = changed.get()
    assert job is not None
    assert (job.attempt, job.error, job.repeat) == (0, "no luck", declare(every="1h").get().repeat)  # type: ignore[union-attr]
    assert job.at > after(hours=1)
    assert not models.Step.objects.exists()  # they were of the tick it left


# Cancelled


def test_cancelled_it_is_gone_until_it_is_opened_again(declare: Callable[..., Schedule], clock: Clock) -> None:
    cleanup = declare(cron="@hourly")
    cleanup.run_due()
    clock.advance("1h")
    cleanup.run_due()

    assert (cleanup.cancel(), cleanup.cancel(), cleanup.get()) == (True, False, None)
    cleanup.run_due()

    job = cleanup.get()
    assert job is not None
    assert (job.at, job.last_run) == (after(hours=2), None)


def test_cancelled_while_it_runs_it_comes_back_by_the_next_opening_alone(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime]
) -> None:
    cleanup = declare(cron="@hourly", run=lambda run: cleanup.cancel())
    cleanup.run_due()
    clock.advance("1h")

    cleanup.run_due()

    assert (cleanup.get(), times) == (None, [after(hours=1)])
    cleanup.run_due()
    assert cleanup.get().at == after(hours=2)  # type: ignore[union-attr]


def test_the_row_of_a_schedule_whose_code_is_gone_is_run_by_nobody(
    declare: Callable[..., Schedule], shop: Store, clock: Clock, times: list[datetime]
) -> None:
    gone = declare("gone", cron="@hourly")
    gone.run_due()
    gone._declaration.registry.declarations.clear()
    stays = declare("stays", cron="@hourly")
    stays.run_due()
    clock.advance("1h")

    assert testing.run_due() == 1
    assert len(times) == 1
    assert gone.get().state == "waiting"  # type: ignore[union-attr]


# Several workers, and clocks


@pytest.mark.django_db(transaction=True)
def test_four_workers_of_one_schedule_run_it_once_a_minute(
    declare: Callable[..., Schedule], clock: Clock, times: list[datetime], settings: Any
) -> None:
    settings.TINYSTORE = {"LEASE": "1h"}  # a jump past their leases would have them take each other's runs for lost
    minutely = declare(cron="* * * * *", time_zone="UTC")

    with minutely.work(), minutely.work(), minutely.work(), minutely.work():
        for minute in range(1, 11):
            clock.set(after(minutes=minute))
            wait_for(lambda: minutely.get().at == after(minutes=minute + 1))  # type: ignore[union-attr]  # noqa: B023

    assert times == [after(minutes=minute) for minute in range(1, 11)]
    assert models.Job.objects.count() == 1


@pytest.mark.parametrize(("use_tz", "zone"), [(True, "UTC"), (False, "Asia/Shanghai")])
def test_a_cron_of_every_minute_runs_once_a_minute_whatever_use_tz_says(
    use_tz: bool, zone: str, declare: Callable[..., Schedule], clock: Clock, times: list[datetime], settings: Any
) -> None:
    settings.USE_TZ, settings.TIME_ZONE = use_tz, zone
    minutely = declare(cron="* * * * *")
    ran = minutely.run_due()

    for _ in range(40):
        clock.advance("15s")
        ran += minutely.run_due()

    assert ran == 10
    assert times == [after(minutes=minute) for minute in range(1, 11)]
    assert minutely.get().repeat == f"* * * * * {zone}"  # type: ignore[union-attr]


def test_without_use_tz_times_are_right_to_the_second(
    declare: Callable[..., Schedule], shop: Store, clock: Clock, settings: Any
) -> None:
    settings.USE_TZ, settings.TIME_ZONE = False, "Asia/Shanghai"
    reports, hourly = shop.queue("reports"), declare(every="1h")
    hourly.run_due()

    reports.add(1, id="at", at=datetime(2026, 3, 1, 21, 0, 7))
    reports.add(1, id="delay", delay="1h7s")
    reports.add(1, id="cron", cron="30 21 * * *")

    times = [reports.get(id).at for id in ("at", "delay", "cron")]  # type: ignore[union-attr]
    assert times == [after(hours=1, seconds=7), after(hours=1, seconds=7), after(hours=1, minutes=30)]
    assert hourly.get().at - NOON <= timedelta(hours=1)  # type: ignore[union-attr]


def test_a_clock_that_jumps_a_day_forward_and_back_runs_what_was_due_once_and_is_right_within_a_settle(
    declare: Callable[..., Schedule], shop: Store, clock: Clock, times: list[datetime]
) -> None:
    hourly, marks, ran = declare(cron="@hourly"), shop.queue("marks"), []
    marks.handler(ran.append)
    hourly.run_due()
    for hours in (2, 20):
        marks.add(hours, delay=f"{hours}h")
    clock.advance("1d")
    forward = hourly.run_due() + marks.run_due()
    clock.set(after(minutes=30))
    back = hourly.run_due() + marks.run_due()
    hourly.cancel()
    hourly.run_due()
    clock.set(after(hours=1))
    again = hourly.run_due()

    assert (forward, back, again) == (3, 0, 1)
    assert (ran, times) == ([2, 20], [after(hours=1), after(hours=1)])
    assert hourly.get().at == after(hours=2)  # type: ignore[union-attr]


def test_a_clock_set_back_while_it_runs_is_right_with_its_settle(
    declare: Callable[..., Schedule], clock: Clock
) -> None:
    hourly = declare(cron="@hourly", run=lambda run: clock.set(after(minutes=30)))
    hourly.run_due()
    clock.advance("1d")

    assert hourly.run_due() == 1

    assert hourly.get().at == after(hours=1)  # type: ignore[union-attr]


def test_a_schedule_declared_twice_may_write_its_cron_in_two_ways(shop: Store) -> None:
    shop.schedule("nightly", cron="@daily", time_zone="UTC")

    assert shop.schedule("nightly", cron="0 0 * * *", time_zone="UTC").name == "nightly"
