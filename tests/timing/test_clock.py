import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tinystore_django.timing import clock


@pytest.fixture(autouse=True)
def callbacks_of_one_test(monkeypatch):
    monkeypatch.setattr(clock, "_on_move", [])
    yield
    clock.set_frozen(None)


def test_now_is_the_time_of_the_process():
    before = time.time_ns() // 1000

    now = clock.now()

    assert clock.frozen() is None
    assert before <= now <= time.time_ns() // 1000


def test_a_frozen_clock_stands_still_until_it_is_let_go():
    clock.set_frozen(1_000_000)

    assert (clock.now(), clock.now(), clock.frozen()) == (1_000_000, 1_000_000, 1_000_000)

    clock.set_frozen(None)

    assert clock.now() > 1_000_000


def test_time_zero_is_a_time():
    clock.set_frozen(0)

    assert clock.now() == 0


def test_each_move_tells_every_callback_which_sees_the_new_time():
    seen = []
    clock.on_move(lambda: seen.append(("first", clock.frozen())))
    clock.on_move(lambda: seen.append(("second", clock.frozen())))

    clock.set_frozen(5)
    clock.set_frozen(None)

    assert seen == [("first", 5), ("second", 5), ("first", None), ("second", None)]


def test_a_callback_may_register_another():
    clock.on_move(lambda: clock.on_move(lambda: None))

    clock.set_frozen(5)

    assert len(clock._on_move) == 2


def test_the_calendar_begins_and_ends_as_pythons():
    assert clock.to_datetime(clock.EARLIEST) == datetime.min.replace(tzinfo=UTC)
    assert clock.to_datetime(clock.LATEST) == datetime.max.replace(tzinfo=UTC)
    assert clock.to_datetime(clock.EARLIEST - 1) == clock.to_datetime(-(2**63)) == datetime.min.replace(tzinfo=UTC)
    assert clock.to_datetime(clock.LATEST + 1) == clock.to_datetime(2**63) == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize("us", [clock.EARLIEST, -1, 0, 1, 1_774_750_271_123_457, clock.LATEST - 1, clock.LATEST])
def test_an_instant_survives_the_way_to_a_datetime_and_back(us):
    assert clock.from_datetime(clock.to_datetime(us)) == us


def test_a_datetime_of_another_zone_is_the_same_instant():
    at = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))

    assert clock.to_datetime(clock.from_datetime(at)) == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_naive_datetime_is_no_instant():
    with pytest.raises(TypeError):
        clock.from_datetime(datetime(2026, 1, 1))
