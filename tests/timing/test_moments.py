from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.timing.clock import EARLIEST, LATEST, from_datetime, to_datetime
from tinystore_django.timing.moments import capped, instant, later


class Nowhere(tzinfo):
    """A zone that does not know its offset, so that its datetimes are naive to Python."""

    def utcoffset(self, dt):
        return None


@pytest.fixture
def berlin_without_zones(settings):
    settings.USE_TZ = False
    settings.TIME_ZONE = "Europe/Berlin"


@pytest.fixture(params=[True, False])
def either_use_tz(request, settings):
    settings.USE_TZ = request.param
    settings.TIME_ZONE = "Asia/Tokyo"


@pytest.mark.usefixtures("either_use_tz")
@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 3, 29, 0, 30, 0, 123457, tzinfo=UTC),
        datetime(2026, 3, 29, 2, 30, 0, 123457, tzinfo=timezone(timedelta(hours=2))),
        datetime(2026, 3, 29, 6, 15, 0, 123457, tzinfo=ZoneInfo("Asia/Kathmandu")),
    ],
)
def test_an_aware_time_is_its_instant_whatever_the_settings(at):
    assert to_datetime(instant(at, "at")) == datetime(2026, 3, 29, 0, 30, 0, 123457, tzinfo=UTC)


@pytest.mark.parametrize(("fold", "hour"), [(0, 0), (1, 1)])
def test_an_aware_time_keeps_its_fold(fold, hour):
    at = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold)

    assert to_datetime(instant(at, "at")) == datetime(2026, 10, 25, hour, 30, tzinfo=UTC)


@pytest.mark.parametrize("at", [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=Nowhere())])
def test_a_naive_time_is_refused_with_what_to_write(settings, at):
    settings.USE_TZ = True

    with pytest.raises(InvalidError, match=r"^at datetime.datetime\(2026.*has no time zone: write timezone.make_aware"):
        instant(at, "at")


@pytest.mark.usefixtures("berlin_without_zones")
@pytest.mark.parametrize(
    ("at", "utc"),
    [
        (datetime(2026, 1, 1, 12, 0, 0, 7), datetime(2026, 1, 1, 11, 0, 0, 7)),
        (datetime(2026, 7, 1, 12), datetime(2026, 7, 1, 10)),
        (datetime(2026, 7, 1, 12, tzinfo=Nowhere()), datetime(2026, 7, 1, 10)),
        (datetime(2026, 10, 25, 2, 30), datetime(2026, 10, 25, 0, 30)),
        (datetime(2026, 10, 25, 2, 30, fold=1), datetime(2026, 10, 25, 1, 30)),
        (datetime(2026, 7, 1, 12, fold=1), datetime(2026, 7, 1, 10)),
    ],
)
def test_without_use_tz_a_naive_time_is_read_in_the_settings_zone(at, utc):
    assert to_datetime(instant(at, "at")) == utc.replace(tzinfo=UTC)


@pytest.mark.usefixtures("berlin_without_zones")
@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.parametrize(("hour", "minute", "us"), [(2, 0, 0), (2, 30, 0), (2, 59, 999_999), (3, 0, 0)])
def test_a_naive_time_in_a_gap_is_the_first_instant_after_it(hour, minute, us, fold):
    at = datetime(2026, 3, 29, hour, minute, 0, us, fold=fold)

    assert to_datetime(instant(at, "at")) == datetime(2026, 3, 29, 1, tzinfo=UTC)


@pytest.mark.usefixtures("berlin_without_zones")
@pytest.mark.parametrize("at", [datetime.min + timedelta(hours=2), datetime.max])
def test_the_ends_of_the_calendar_can_be_given_naive(at):
    assert EARLIEST <= instant(at, "at") <= LATEST


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_the_calendar_can_be_given_aware(at):
    assert to_datetime(instant(at, "at")) == at


@pytest.mark.parametrize(
    "at",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_an_instant_outside_the_calendar_is_refused(at):
    with pytest.raises(InvalidError, match=r"^at .*within the years 1 to 9999"):
        instant(at, "at")


@pytest.mark.usefixtures("berlin_without_zones")
def test_a_naive_time_outside_the_calendar_in_utc_is_refused():
    with pytest.raises(InvalidError, match=r"^at .*within the years 1 to 9999"):
        instant(datetime.min, "at")


@pytest.mark.parametrize("at", [date(2026, 1, 1), "2026-01-01T00:00Z", 0, True, None, timedelta(1)])
def test_what_is_no_datetime_is_refused(at):
    with pytest.raises(InvalidError, match=r"^at .*: give a datetime"):
        instant(at, "at")


def test_later_is_the_sum():
    assert later(5, 7, "delay") == 12
    assert later(LATEST - 1, 1, "delay") == LATEST


def test_later_than_the_calendar_is_refused():
    with pytest.raises(InvalidError, match=r"^delay 1ms: .* year 9999"):
        later(LATEST, 1000, "delay")


@pytest.mark.parametrize(("us", "kept"), [(5, 5), (LATEST + 1, LATEST), (10**30, LATEST), (EARLIEST - 1, EARLIEST)])
def test_an_instant_is_brought_into_the_calendar(us, kept):
    assert capped(us) == kept


def test_a_time_of_a_subclass_is_taken():
    class Later(datetime):
        pass

    assert instant(Later(2026, 1, 1, tzinfo=UTC), "at") == from_datetime(datetime(2026, 1, 1, tzinfo=UTC))
