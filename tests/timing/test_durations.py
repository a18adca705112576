from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinystore_django.errors import InvalidError
from tinystore_django.timing.durations import LONGEST, duration, in_words

S = 1_000_000
REFUSED = (
    "|5|1m30|30m1h|1.5h|-5s|+5s|5 s| 5s|5s |5s\n|1y|1m1m|5S|\u0665s|\uff15s|\u00b2s|s|1ms1s|1s1m|1_0s|1h 30m|"
    "1e3s|5us|PT5S|1h-5m|5s\x00"
)


@pytest.mark.parametrize(
    ("span", "us"),
    [
        ("5s", 5 * S),
        ("1h30m", 5400 * S),
        ("500ms", S // 2),
        ("1m500ms", 60 * S + S // 2),
        ("1m1ms", 60 * S + 1000),
        ("1w2d", 9 * 86400 * S),
        ("1w1d1h1m1s1ms", (8 * 86400 + 3661) * S + 1000),
        ("0s", 0),
        ("007s", 7 * S),
        ("0" * 400 + "1s", S),
        ("90m", 5400 * S),
        (timedelta(0), 0),
        (timedelta(microseconds=1), 1),
        (timedelta(days=400, microseconds=7), 400 * 86400 * S + 7),
    ],
)
def test_a_span_is_whole_microseconds(span, us):
    assert duration(span, "delay") == us


@pytest.mark.parametrize("span", REFUSED.split("|"))
def test_other_text_is_refused(span):
    with pytest.raises(InvalidError) as refused:
        duration(span, "delay")

    assert str(refused.value).startswith(f"delay {span!r}: write it as 30d, 1h30m")


@pytest.mark.parametrize("span", [5, 0, 1.5, True, False, None, b"5s", ["5s"], timedelta(microseconds=-1)])
def test_what_is_no_span_is_refused(span):
    with pytest.raises(InvalidError, match=r"^keep .*give"):
        duration(span, "keep")


@pytest.mark.parametrize("digits", [15, 30, 31, 400, 100_000])
def test_more_text_than_a_timedelta_holds_is_refused(digits):
    with pytest.raises(InvalidError, match=r"^delay '9+.*: too long"):
        duration("9" * digits + "w", "delay")


@pytest.mark.parametrize("span", [timedelta.max, timedelta(days=4_000_000), "999999w"])
def test_a_span_longer_than_the_calendar_is_as_long_as_the_calendar(span):
    assert duration(span, "delay") == LONGEST


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0s"),
        (5400 * S, "1h30m"),
        (7 * 86400 * S, "1w"),
        (1500_000, "1s500ms"),
        (300_000, "300ms"),
        (1001, "1ms1us"),
    ],
)
def test_a_span_is_written_in_its_units(us, words):
    assert in_words(us) == words


@given(st.integers(min_value=0, max_value=LONGEST // 1000))
def test_whole_milliseconds_read_back_as_they_were_written(ms):
    assert duration(in_words(ms * 1000), "delay") == ms * 1000
