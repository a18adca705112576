from datetime import UTC, datetime, timedelta

import pytest

from tinystore_django.errors import CorruptError, InvalidError
from tinystore_django.timing.clock import from_datetime
from tinystore_django.timing.repeats import is_kept_as, read, repeat

CORRUPT = (
    "| |UTC|@every 30s|@every 0s +0ms|@every 30s +99999ms|10 3 * * *|10 3 * * *  |10 3 * * * Mars/Olympus|"
    "10 3 * * * europe/berlin|0 0 30 2 * UTC|* * * * * * UTC|{}|\x00"
)
T = from_datetime(datetime(2026, 1, 1, tzinfo=UTC))


def test_no_arguments_ask_for_no_repeat():
    assert repeat(None) is None
    assert repeat("r") is None


@pytest.mark.parametrize("every", ["30s", timedelta(seconds=30), "30000ms"])
def test_every_is_an_interval_at_the_phase_of_the_id(every):
    assert repeat("r", every=every).text == "@every 30s +18005ms"


def test_a_cron_is_read_in_its_zone():
    asked = repeat("r", cron="10 3 * * *", time_zone="Europe/Berlin")

    assert asked.text == "10 3 * * * Europe/Berlin"
    assert asked.next(T) == from_datetime(datetime(2026, 1, 1, 2, 10, tzinfo=UTC))


def test_a_cron_without_a_zone_is_read_in_the_settings_zone(settings):
    settings.TIME_ZONE = "Asia/Tokyo"

    assert repeat("r", cron="@daily").text == "@daily Asia/Tokyo"


@pytest.mark.parametrize("asked", [{"every": "30s"}, {"cron": "@daily"}])
def test_a_repeat_needs_an_id(asked):
    with pytest.raises(InvalidError, match="a repeat needs an id"):
        repeat(None, **asked)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"every": "30s", "cron": "@daily"}, r"^every '30s' with cron '@daily': give one"),
        ({"every": "30s", "cron": "@daily", "time_zone": "UTC"}, r"^every '30s' with cron"),
        ({"time_zone": "UTC"}, r"^time_zone 'UTC' without cron"),
        ({"every": "30s", "time_zone": "UTC"}, r"^time_zone 'UTC' without cron"),
        ({"every": "999ms"}, r"^every '999ms': give a span of at least 1s"),
        ({"every": timedelta(0)}, r"^every .*: give a span of at least 1s"),
        ({"every": timedelta.max}, r"^every .*: give a span of at least 1s and below 9999 years"),
        ({"every": timedelta(seconds=1, microseconds=1)}, r"^every .*: give whole milliseconds"),
        ({"every": 30}, r"^every 30: give a timedelta, or text"),
        ({"every": "1.5h"}, r"^every '1.5h': write it as"),
        ({"cron": "60 * * * *"}, r"^cron '60 "),
        ({"cron": "@daily", "time_zone": "Mars/Olympus"}, r"^time_zone 'Mars/Olympus'"),
        ({"cron": "@daily", "time_zone": ""}, r"^time_zone ''"),
        ({"cron": ""}, r"^cron ''"),
        ({"every": ""}, r"^every ''"),
    ],
)
@pytest.mark.parametrize("id", ["r", None])
def test_arguments_that_cannot_be_are_refused(id, asked, says):
    with pytest.raises(InvalidError, match=says if id else says + "|needs an id"):
        repeat(id, **asked)


def test_a_very_long_period_is_kept_exactly():
    assert repeat("r", every=timedelta(seconds=10**9)).text.startswith("@every 1000000000s +")


@pytest.mark.parametrize(
    "asked",
    [
        {"every": "1h30m"},
        {"every": "1500ms"},
        {"cron": "@weekly"},
        {"cron": "5 4 * * Sun", "time_zone": "Asia/Gaza"},
    ],
)
def test_a_kept_text_reads_back_as_the_repeat_it_was(asked):
    kept = repeat("report:7", **asked)

    again = read(kept.text)

    assert again == kept
    assert again.next(T) == kept.next(T)


def test_a_text_is_parsed_once():
    assert read("10 3 * * * Europe/Rome") is read("10 3 * * * Europe/Rome")


@pytest.mark.parametrize("text", [*CORRUPT.split("|"), "x" * 100_000])
def test_a_text_that_is_no_repeat_is_corrupt(text):
    with pytest.raises(CorruptError, match=r"^the kept repeat '.* no longer reads: "):
        read(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [("@daily", "0 0 * * *"), ("@midnight", "@daily"), ("0 0 * * SUN", "@weekly"), ("5,1 0 * * *", "1,5  0 * * *")],
)
def test_two_ways_to_write_the_same_times_are_one_repeat(one, other):
    first, second = (repeat("a", cron=expression, time_zone="UTC") for expression in (one, other))

    assert first == second
    assert is_kept_as(first, second.text)
    assert first.text != second.text


@pytest.mark.parametrize("text", [None, "", "nonsense", "0 0 * * * Europe/Berlin", "0 1 * * * UTC", "@every 30s +1ms"])
def test_another_repeat_or_none_is_not_the_same(text):
    assert not is_kept_as(repeat("a", cron="@daily", time_zone="UTC"), text)
