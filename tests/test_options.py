from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.options import Backoff, Concurrency, QueueOptions, check_name, queue_options
from tinystore_django.timing.durations import LONGEST
from tinystore_django.timing.rates import Rate

S = 1_000_000
WHOLE = [0, -1, 1.0, "3", True, False, 2**31, 10**30]


def test_a_wait_doubles_from_initial_up_to_max():
    backoff = Backoff("1s", "10s")

    assert [backoff.delay(failures) for failures in (1, 2, 3, 4, 5, 6)] == [
        S,
        2 * S,
        4 * S,
        8 * S,
        10 * S,
        10 * S,
    ]


@pytest.mark.parametrize("backoff", [Backoff("1s", "1h"), Backoff(timedelta(microseconds=1), timedelta.max)])
def test_a_wait_after_any_number_of_failures_is_max(backoff):
    assert backoff.delay(5000) == backoff.max_us
    assert backoff.delay(10**30) == backoff.max_us
    assert backoff.jittered(5000, 0.999) <= backoff.max_us * 1.1


@pytest.mark.parametrize(
    ("random", "wait"), [(0.0, 3_600_000), (0.5, 4_000_000), (0.25, 3_800_000), (1 - 2**-53, 4_400_000)]
)
def test_a_wait_is_spread_from_nine_to_eleven_tenths(random, wait):
    assert Backoff("1s", "1h").jittered(3, random) == wait


@pytest.mark.parametrize(
    ("initial", "longest", "says"),
    [
        ("0s", "1h", r"^backoff's initial '0s': give a span above 0"),
        (timedelta(0), "1h", r"^backoff's initial .*: give a span above 0"),
        ("2s", "1s", r"^backoff's max '1s': give at least its initial, '2s'"),
        (1, "1h", r"^backoff's initial 1: give a timedelta"),
        ("1s", 60, r"^backoff's max 60: give a timedelta"),
        ("1s", "1.5h", r"^backoff's max '1.5h': write it as"),
    ],
)
def test_a_backoff_that_cannot_be_is_refused(initial, longest, says):
    with pytest.raises(InvalidError, match=says):
        Backoff(initial, longest)


def test_backoffs_of_equal_spans_are_equal():
    assert Backoff("60s", "1h") == Backoff("1m", timedelta(hours=1))
    assert hash(Backoff("60s", "1h")) == hash(Backoff("1m", "60m"))
    assert Backoff("1s", "1h") != Backoff("1s", "2h")
    assert repr(Backoff("60s", "1h")) == "Backoff(initial='60s', max='1h')"


def test_a_concurrency_has_a_total_a_group_or_both():
    assert Concurrency(total=8) == Concurrency(total=8, group=None)
    assert Concurrency(group=2).total is None
    assert Concurrency(total=8, group=2).group == 2


def test_a_concurrency_without_a_limit_is_refused():
    with pytest.raises(InvalidError, match=r"write Concurrency\(total=8\)"):
        Concurrency()


@pytest.mark.parametrize("limit", ["total", "group"])
@pytest.mark.parametrize("given", WHOLE)
def test_a_concurrency_takes_whole_numbers_only(limit, given):
    with pytest.raises(InvalidError, match=f"^concurrency's {limit} .*: give a whole number from 1"):
        Concurrency(**{limit: given})


def test_options_not_given_have_their_defaults():
    assert queue_options() == QueueOptions(
        attempts=10,
        backoff=Backoff("1s", "1h"),
        timeout=60 * S,
        concurrency=None,
        rate=None,
        group_rate=None,
        dedupe=None,
        keep=7 * 86400 * S,
        keep_done=None,
        max_waiting=None,
    )


def test_options_given_are_read_into_their_units():
    options = queue_options(
        attempts=3,
        backoff=Backoff("5s", "5m"),
        timeout=timedelta(seconds=90),
        concurrency=Concurrency(total=8, group=2),
        rate="30/s",
        group_rate="5/10s",
        dedupe="1h",
        keep="30d",
        keep_done="1d",
        max_waiting=100,
    )

    assert options == QueueOptions(
        attempts=3,
        backoff=Backoff("5s", "5m"),
        timeout=90 * S,
        concurrency=Concurrency(total=8, group=2),
        rate=Rate(30, S),
        group_rate=Rate(5, 10 * S),
        dedupe=3600 * S,
        keep=30 * 86400 * S,
        keep_done=86400 * S,
        max_waiting=100,
    )


def test_options_are_equal_however_they_were_written():
    assert queue_options(timeout="60s", concurrency=4) == queue_options(concurrency=Concurrency(total=4))
    assert queue_options(rate="60/m") != queue_options(rate="1/s")


def test_an_empty_window_is_none():
    assert queue_options(dedupe="0s", keep_done=timedelta(0)) == queue_options()
    assert queue_options(keep="0s").keep == 0


def test_a_span_longer_than_the_calendar_is_cut_to_it():
    assert queue_options(keep=timedelta.max).keep == LONGEST


@pytest.mark.parametrize("name", ["attempts", "concurrency", "max_waiting"])
@pytest.mark.parametrize("given", WHOLE)
def test_a_count_is_a_whole_number_from_1(name, given):
    with pytest.raises(InvalidError, match=rf"^{name} .*: give a whole number from 1 to 2,147,483,647"):
        queue_options(**{name: given})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"attempts": None}, r"^attempts None: give a whole number"),
        ({"backoff": "1s"}, r"^backoff '1s': write Backoff\("),
        ({"backoff": ("1s", "1h")}, r"^backoff \('1s', '1h'\): write Backoff\("),
        ({"backoff": None}, r"^backoff None: write Backoff\("),
        ({"timeout": "0s"}, r"^timeout '0s': give a span above 0"),
        ({"timeout": None}, r"^timeout None: give a timedelta"),
        ({"timeout": 60}, r"^timeout 60: give a timedelta"),
        ({"concurrency": {"total": 8}}, r"^concurrency {'total': 8}: give a whole number"),
        ({"rate": "30"}, r"^rate '30': write it as 30/s"),
        ({"rate": 30}, r"^rate 30: write it as 30/s"),
        ({"group_rate": "0/s"}, r"^group_rate '0/s': write a count and a span of at least 1"),
        ({"dedupe": "1.5h"}, r"^dedupe '1.5h': write it as"),
        ({"keep": None}, r"^keep None: give a timedelta"),
        ({"keep": "-1d"}, r"^keep '-1d': write it as"),
        ({"keep_done": True}, r"^keep_done True: give a timedelta"),
    ],
)
def test_a_bad_option_is_refused_by_its_name(options, says):
    with pytest.raises(InvalidError, match=says):
        queue_options(**options)


def test_all_bad_options_are_told_at_once():
    with pytest.raises(InvalidError) as refused:
        queue_options(attempts=0, rate="fast", keep="long", concurrency=2)

    assert [problem.split(" ")[0] for problem in str(refused.value).split("; ")] == [
        "attempts",
        "rate",
        "keep",
    ]


def test_options_do_not_change():
    with pytest.raises(FrozenInstanceError):
        queue_options().attempts = 3


@pytest.mark.parametrize(
    ("given", "total", "group"),
    [
        (None, None, None),
        (4, 4, None),
        (Concurrency(group=2), None, 2),
        (Concurrency(total=8, group=2), 8, 2),
    ],
)
def test_total_and_group_are_those_of_the_concurrency(given, total, group):
    options = queue_options(concurrency=given)

    assert (options.total, options.group) == (total, group)


@pytest.mark.parametrize(
    ("given", "limited"),
    [
        ({}, False),
        ({"max_waiting": 5, "dedupe": "1h", "keep_done": "1h"}, False),
        ({"concurrency": 4}, True),
        ({"concurrency": Concurrency(group=2)}, True),
        ({"rate": "30/s"}, True),
        ({"group_rate": "30/s"}, True),
    ],
)
def test_a_queue_is_limited_by_its_concurrency_and_rates(given, limited):
    assert queue_options(**given).limited is limited


@pytest.mark.parametrize("name", ["a", "7", "emails", "a-b_c", "0-_", "x" * 64])
def test_a_name_of_small_letters_digits_and_dashes_is_taken(name):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-a",
        "_a",
        "Emails",
        "a b",
        "a.b",
        "a/b",
        "a\n",
        " a",
        "é",
        "\u0663",
        "a\x00",
        "x" * 65,
        None,
        7,
        True,
        ["a"],
    ],
)
def test_another_name_is_refused(name):
    with pytest.raises(InvalidError, match=r"^schedule name .*: write 1 to 64 of a-z, 0-9, _ and -"):
        check_name(name, "schedule")
