import zoneinfo
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.timing.clock import EARLIEST, LATEST, from_datetime
from tinystore_django.timing.zones import instant_of, shown, zone

BERLIN = ZoneInfo("Europe/Berlin")


def us(*parts: int) -> int:
    return from_datetime(datetime(*parts, tzinfo=UTC))


def test_every_zone_of_the_machine_is_taken():
    names = zoneinfo.available_timezones() - {"localtime", "Factory"}

    assert {zone(name).key for name in names} == names


@pytest.mark.parametrize("name", ["localtime", "posixrules", "Factory", "europe/berlin", "UTC ", "+02:00", "Europe"])
def test_what_is_no_zones_name_is_refused(name):
    with pytest.raises(InvalidError, match=r"^time_zone '.*': write an IANA name"):
        zone(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/localtime",
        "../zoneinfo/UTC",
        "UTC\x00",
        "x" * 100_000,
        "Europe/\ud800",
        None,
        0,
        ["UTC"],
        BERLIN,
    ],
)
def test_what_cannot_be_a_name_is_refused_by_our_own_error(name):
    with pytest.raises(InvalidError, match=r"^time_zone "):
        zone(name)


def test_a_zone_shows_its_local_time():
    assert shown(us(2026, 7, 1, 12, 0, 0, 7), BERLIN) == us(2026, 7, 1, 14, 0, 0, 7)


@pytest.mark.parametrize(("fold", "hour"), [(0, 0), (1, 1)])
def test_a_repeated_time_has_an_instant_in_each_pass(fold, hour):
    assert instant_of(us(2026, 10, 25, 2, 30), BERLIN, fold) == us(2026, 10, 25, hour, 30)


@pytest.mark.parametrize("fold", [0, 1])
def test_a_time_in_a_gap_is_the_first_instant_after_it(fold):
    assert instant_of(us(2026, 3, 29, 2, 59, 59, 999_999), BERLIN, fold) == us(2026, 3, 29, 1)


def test_a_gap_may_be_a_day_long():
    assert instant_of(us(2011, 12, 30, 9), ZoneInfo("Pacific/Apia")) == us(2011, 12, 30, 10)


def test_a_gap_may_end_between_two_minutes():
    # Liberia left its -0:44:30 on 7 January 1972, at 00:44:30 in UTC.
    assert instant_of(us(1972, 1, 7, 0, 20), ZoneInfo("Africa/Monrovia")) == us(1972, 1, 7, 0, 44, 30)


@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Etc/GMT+12", "UTC"])
@pytest.mark.parametrize("instant", [EARLIEST, LATEST])
def test_the_ends_of_the_calendar_are_shown_and_read_in_every_zone(name, instant):
    place = zone(name)

    assert instant_of(shown(instant, place), place) == instant
