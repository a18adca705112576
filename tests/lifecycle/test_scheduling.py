"""A schedule's row: made when it is opened, and given the repeat of the code."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, transaction

from tests.byhand import Hand, after, row, us
from tinystore_django import Schedule, Store, models
from tinystore_django.lifecycle.scheduling import open_all
from tinystore_django.testing import Clock
from tinystore_django.timing.clock import LATEST, to_datetime
from tinystore_django.timing.repeats import read

pytestmark = pytest.mark.django_db
HOURLY, DAILY = read("0 * * * * UTC"), read("30 13 * * * UTC")


@pytest.fixture
def cleanup(shop: Store, clock: Clock) -> Schedule:
    return shop.schedule("cleanup", cron="0 * * * *", time_zone="UTC")


def open_(repeat: object = HOURLY) -> None:
    open_all("default", {"cleanup": repeat})  # type: ignore[dict-item]


def test_a_schedule_has_no_row_before_it_is_opened(cleanup: Schedule) -> None:
    assert cleanup.get() is None

    open_()

    job = cleanup.get()
    assert job is not None
    assert (job.id, job.value, job.state, job.at) == ("cleanup", None, "scheduled", after(hours=1))
    assert (job.repeat, job.last_run, job.error) == ("0 * * * * UTC", None, None)


def test_opened_again_with_the_repeat_it_has_its_time_stands(cleanup: Schedule, clock: Clock) -> None:
    open_()
    clock.advance("5h")

    open_()

    job = cleanup.get()
    assert job is not None
    assert (job.at, job.state, models.Job.objects.count()) == (after(hours=1), "waiting", 1)


def test_opened_with_another_repeat_it_waits_for_that_ones_next_tick(cleanup: Schedule, clock: Clock) -> None:
    open_()
    clock.advance("2h")

    open_(DAILY)

    job = cleanup.get()
    assert job is not None
    assert (job.at, job.repeat) == (after(days=1, hours=1, minutes=30), "30 13 * * * UTC")


def test_opened_with_another_repeat_while_it_runs_it_goes_on_with_that(
    cleanup: Schedule, clock: Clock, hand: Hand
) -> None:
    open_()
    clock.advance("1h")
    held = hand.take_one(cleanup)

    open_(DAILY)
    hand.end(held)

    job = cleanup.get()
    assert job is not None
    assert (held.at, job.at, job.state) == (us(after(hours=1)), after(hours=1, minutes=30), "scheduled")


def test_missed_ticks_make_one_run_whose_time_is_the_first_of_them(cleanup: Schedule, clock: Clock, hand: Hand) -> None:
    open_()
    clock.advance("5h")
    held = hand.take_one(cleanup)

    hand.end(held)

    assert held.at == us(after(hours=1))
    assert cleanup.get().at == after(hours=6)  # type: ignore[union-attr]
    assert hand.take(cleanup) == []


def test_a_cancelled_schedule_is_gone_until_it_is_opened_again(cleanup: Schedule) -> None:
    open_()

    assert (cleanup.cancel(), cleanup.cancel(), cleanup.get()) == (True, False, None)
    open_()
    assert cleanup.get() is not None


@pytest.mark.parametrize("later", ["0s", "8d"])
def test_a_schedule_whose_kept_repeat_no_longer_read_is_opened_with_the_codes(
    later: str, cleanup: Schedule, clock: Clock, hand: Hand
) -> None:
    open_()
    clock.advance("1h")
    held = hand.take_one(cleanup)
    models.Job.objects.update(repeat="0 * * * * Mars/Olympus")
    hand.end(held)
    waiting = row().at
    clock.advance(later)

    open_()

    job = cleanup.get()
    assert job is not None
    assert (waiting, job.state, job.repeat) == (to_datetime(LATEST), "scheduled", "0 * * * * UTC")


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_holds_its_row_does_not_hold_up_an_opening_that_changes_nothing(shop: Store) -> None:
    open_()
    done: list[bool] = []

    def opening() -> None:
        open_()
        done.append(True)
        connections.close_all()

    with transaction.atomic():
        models.Job.objects.filter(key="cleanup").update(attempt=0)
        thread = threading.Thread(target=opening)
        thread.start()
        thread.join(5)
        in_time = bool(done)
    thread.join()

    assert in_time


def test_opened_with_its_repeat_written_otherwise_its_time_stands(cleanup: Schedule, clock: Clock) -> None:
    open_()
    clock.advance("5h")

    open_(read("@hourly UTC"))

    job = cleanup.get()
    assert job is not None
    assert (job.at, job.state, job.repeat) == (after(hours=1), "waiting", "@hourly UTC")
