import random
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinystore_django.timing.clock import EARLIEST, LATEST, from_datetime
from tinystore_django.timing.intervals import Interval, interval, read

S, HOUR = 1000, 3_600_000
NEW_YEAR, YEAR = from_datetime(datetime(2026, 1, 1, tzinfo=UTC)), 365 * 24 * HOUR * 1000
NONE = (
    "|@every 30s|@every 30s +30000ms|@every 0s +0ms|@every 30 +5ms|@every 30s +5s|@every 1.5s +5ms|"
    "@every 30s  +5ms|@every 30s +5ms |@every 30s -5ms|@every 1h30m +5ms|10 3 * * * UTC|@hourly UTC"
)


@pytest.mark.parametrize(
    ("id", "period", "text"),
    [
        ("r", 30 * S, "@every 30s +18005ms"),
        ("r", 60 * S, "@every 1m +18005ms"),
        ("r", 600 * S, "@every 10m +378005ms"),
        ("r", HOUR, "@every 1h +3378005ms"),
        ("a", HOUR, "@every 1h +3241996ms"),
    ],
)
def test_the_phase_of_an_id_is_its_hash(id, period, text):
    assert interval(id, period).text == text


@pytest.mark.parametrize(
    ("period", "written"),
    [
        (24 * HOUR, "24h"),
        (90 * 60 * S, "90m"),
        (5400 * S + S, "5401s"),
        (1500, "1500ms"),
        (168 * HOUR, "168h"),
    ],
)
def test_a_period_is_written_in_the_largest_unit_that_divides_it(period, written):
    assert Interval(period, 7).text == f"@every {written} +7ms"


def test_an_id_is_hashed_by_its_utf_8():
    # FNV's own vector for "foobar", and its arithmetic for the two bytes of "é".
    assert interval("foobar", 2**64).phase == 0x85944171F73967E8
    assert interval("é", 2**64).phase == ((0xCBF29CE484222325 ^ 0xC3) * 0x100000001B3 ^ 0xA9) * 0x100000001B3 % 2**64


def test_an_id_that_cannot_be_has_a_phase_all_the_same():
    assert 0 <= interval("\ud800", HOUR).phase < HOUR


def test_the_next_tick_is_strictly_later():
    every = Interval(30 * S, 18_005)

    assert every.next(0) == 18_005_000
    assert every.next(18_004_999) == 18_005_000
    assert every.next(18_005_000) == 48_005_000
    assert every.next(18_005_001) == 48_005_000


@given(
    st.integers(1000, 10**9).flatmap(lambda period: st.tuples(st.just(period), st.integers(0, period - 1))),
    st.integers(EARLIEST, LATEST - 10**12),
)
def test_a_tick_is_the_first_millisecond_after_that_has_the_phase(interval, after):
    period, phase = interval

    tick = Interval(period, phase).next(after)

    assert tick % 1000 == 0
    assert tick // 1000 % period == phase
    assert after < tick <= after + period * 1000


def test_past_the_calendar_a_tick_is_its_end():
    assert Interval(1000, 999).next(LATEST) == LATEST
    assert Interval(10**15, 10**15 - 1).next(0) == LATEST


def test_a_kept_interval_reads_back():
    every = Interval(90 * 60 * S, 378_005)

    assert read(every.text) == every


@pytest.mark.parametrize("text", NONE.split("|"))
def test_what_is_no_kept_interval_is_none(text):
    assert read(text) is None


def test_an_interval_has_words():
    assert Interval(90 * 60 * S, 5).in_words() == "every 1h30m"


@settings(max_examples=25, deadline=None)
@given(st.text(), st.sampled_from([1000, 1500, 30 * S, 90 * S, 600 * S, 7 * HOUR, 24 * HOUR]), st.integers())
def test_over_a_year_of_runs_that_begin_late_and_take_long_no_tick_drifts_or_comes_twice(id, period, seed):
    randomly, every, at = random.Random(seed), interval(id, period), NEW_YEAR
    phase = every.phase
    ticks = []

    while at < NEW_YEAR + YEAR and len(ticks) < 2000:
        at = every.next(at)
        ticks.append(at)
        # Lateness and length: mostly a moment, at times far more than a period or the rest of the night.
        at += int(randomly.choice([0, 1, 999_999, period * 100, period * 2500, 8 * HOUR * 1000]) * randomly.random())

    assert ticks == sorted(set(ticks))
    assert {tick // 1000 % period for tick in ticks} == {phase}
    assert {tick % 1000 for tick in ticks} == {0}


@pytest.mark.parametrize("period", [HOUR, 24 * HOUR])
def test_over_a_year_on_time_each_period_has_one_tick(period):
    every, at, ticks = interval("report", period), NEW_YEAR, []

    while (at := every.next(at)) <= NEW_YEAR + YEAR:
        ticks.append(at)

    assert len(ticks) == 365 * 24 * HOUR // period
    assert {later - one for one, later in pairwise(ticks)} == {period * 1000}


def test_the_phases_of_many_ids_spread_over_the_period():
    tenths = Counter(interval(f"report:{number}", HOUR).phase * 10 // HOUR for number in range(10_000))

    assert sorted(tenths) == list(range(10))
    assert max(tenths.values()) < 2 * min(tenths.values())
