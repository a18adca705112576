"""The log of a rate's starts: a sliding window, exact to the microsecond."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinystore_django.timing.rates import LONGEST_LOG, Rate, Starts, rate

S = 1_000_000
T = 1_800_000_000 * S
TWO = rate("2/s")


def log(*entries: tuple[int, int], now: int = T, of: Rate = TWO) -> Starts:
    return Starts.read(json.dumps(entries), of, now)


def test_a_start_counts_until_a_span_after_it() -> None:
    assert log((T - S + 1, 1)).room(TWO) == 1
    assert log((T - S, 1)).room(TWO) == 2


def test_no_starts_leave_all_the_room_and_nothing_to_wait_for() -> None:
    none = Starts.read("[]", TWO, T)

    assert (none.room(TWO), none.free_at(TWO), none.more_at(TWO), none.ends_at(TWO)) == (2, None, None, 0)


def test_a_full_log_is_free_when_its_first_start_counts_no_more() -> None:
    full = log((T - 300, 1), (T - 100, 1))

    assert (full.room(TWO), full.free_at(TWO), full.ends_at(TWO)) == (0, T - 300 + S, T - 100 + S)


def test_one_that_is_not_full_has_more_room_when_its_first_start_counts_no_more() -> None:
    half = log((T - 300, 1))

    assert (half.room(TWO), half.free_at(TWO), half.more_at(TWO)) == (1, None, T - 300 + S)


def test_under_a_rate_that_was_lowered_as_many_have_to_leave_as_are_too_many() -> None:
    many = log((T - 500, 2), (T - 400, 1), (T - 300, 1), (T - 200, 1), of=rate("5/s"))

    assert (many.room(TWO), many.free_at(TWO), many.more_at(TWO)) == (0, T - 300 + S, T - 300 + S)


def test_starts_of_one_instant_are_one_entry() -> None:
    once = Starts().more(TWO, T, 1)

    assert once.more(TWO, T, 1).entries == ((T, 2),)
    assert once.more(TWO, T + 1, 1).entries == ((T, 1), (T + 1, 1))
    assert once.more(TWO, T + 1, 0) is once


def test_a_log_reads_back_as_it_was_written() -> None:
    one = Starts(((T - 5, 1), (T, 1)))

    assert Starts.read(one.text, TWO, T) == one
    assert one.text == f"[[{T - 5},1],[{T},1]]"


@pytest.mark.parametrize("back", [2, S, 3600 * S])
def test_starts_of_a_time_to_come_count_as_of_now(back: int) -> None:
    read = log((T, 1), (T + 9, 1), now=T - back)

    assert (read.entries, read.free_at(TWO)) == (((T - back, 2),), T - back + S)


def test_up_to_a_thousand_starts_are_told_to_the_microsecond_and_more_to_a_thousandth_of_the_span() -> None:
    assert rate(f"{LONGEST_LOG}/s").grain == 1
    assert rate(f"{LONGEST_LOG + 1}/s").grain == 1_000
    assert rate("1001/ms").grain == 1


def test_a_coarse_log_rounds_up_and_never_grows_long() -> None:
    coarse = rate("1000000/s")
    starts = Starts()
    for at in range(T, T + 2 * S, 777):
        starts = Starts.read(starts.text, coarse, at).more(coarse, at, 1)

    assert len(starts.entries) <= LONGEST_LOG + 1
    assert all(at % 1_000 == 0 for at, _ in starts.entries)


RATES = st.builds(Rate, st.sampled_from([1, 2, 5, 1_500]), st.sampled_from([1, 10, 1_000, 5_000]))
MOVES = st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 600)), max_size=60)


@given(RATES, MOVES)
def test_no_window_ever_holds_more_starts_and_an_exact_one_is_filled(limit: Rate, moves: list[tuple[int, int]]) -> None:
    now, starts, all_starts = T, Starts(), list[int]()
    for wait, wanted in moves:
        now += wait
        starts = Starts.read(starts.text, limit, now)
        in_window = sum(at > now - limit.span for at in all_starts)
        room = starts.room(limit)
        assert room <= max(0, limit.count - in_window)
        if limit.grain == 1:
            assert room == limit.count - in_window
        started = min(wanted, room)
        starts = starts.more(limit, now, started)
        all_starts += [now] * started


@given(RATES, MOVES)
def test_the_time_it_gives_is_the_first_at_which_one_more_may_start(limit: Rate, moves: list[tuple[int, int]]) -> None:
    now, starts = T, Starts()
    for wait, wanted in moves:
        now += wait
        starts = Starts.read(starts.text, limit, now)
        starts = starts.more(limit, now, min(wanted, starts.room(limit)))
    room, more_at = starts.room(limit), starts.more_at(limit)

    if more_at is not None:
        assert Starts.read(starts.text, limit, more_at - 1).room(limit) == room
        assert Starts.read(starts.text, limit, more_at).room(limit) > room
        assert now < more_at <= now + limit.longest_wait
