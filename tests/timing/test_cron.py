"""The worked answers, and a second opinion: a walk through every real minute that watches a zone's clocks."""

import json
import random
import zoneinfo
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinystore_django.errors import InvalidError
from tinystore_django.timing.clock import EARLIEST, LATEST, from_datetime, to_datetime
from tinystore_django.timing.cron import cron

CASES = Path(__file__).parent.parent / "cases"
MINUTE = timedelta(minutes=1)


def cases(name: str) -> list:
    return [pytest.param(case, id=case["id"]) for case in json.loads((CASES / name).read_text(encoding="utf-8"))]


def us(*parts: int) -> int:
    return from_datetime(datetime(*parts, tzinfo=UTC))


@pytest.mark.parametrize("case", cases("cron_handed.json"))
def test_a_worked_example_has_its_answer(case):
    # Some examples may be refused instead: those that a stricter reading of crontab leaves out.
    try:
        repeat = cron(case["expr"], case["tz"])
    except InvalidError:
        assert case.get("reject_ok")
        return
    at, ticks = from_datetime(datetime.fromisoformat(case["after"])), []

    for _ in case["expect"]:
        at = repeat.next(at)
        ticks.append(f"{to_datetime(at):%Y-%m-%dT%H:%M:%SZ}")

    assert ticks == case["expect"]


@pytest.mark.parametrize("case", cases("cron_invalid_handed.json"))
def test_a_worked_refusal_is_refused(case):
    with pytest.raises(InvalidError, match=r"^(cron|time_zone) "):
        cron(case["expr"], case["tz"])


@pytest.mark.parametrize("expression", ["0 22-2 * * *", "0 0 * * SAT-SUN", "0 0 L 2 *", "0 0 1 11-2/3 *"])
def test_a_descending_range_and_an_l_are_refused(expression):
    with pytest.raises(InvalidError):
        cron(expression, "UTC")


def test_a_row_keeps_the_expression_and_its_zone():
    assert cron("10  3 * * Mon ", "Europe/Berlin").text == "10 3 * * Mon Europe/Berlin"
    assert cron("@daily", "UTC").text == "@daily UTC"


def test_the_next_tick_is_strictly_later():
    repeat = cron("30 * * * *", "UTC")

    assert repeat.next(us(2026, 1, 1, 0, 30) - 1) == us(2026, 1, 1, 0, 30)
    assert repeat.next(us(2026, 1, 1, 0, 30)) == us(2026, 1, 1, 1, 30)


def test_where_clocks_went_back_a_day_no_local_time_comes_twice():
    # Kwajalein gave 30 September 1969 a second time; its clocks went from +11 to -12.
    repeat = cron("0 * * * *", "Pacific/Kwajalein")
    in_the_first_pass, in_the_second = us(1969, 9, 30, 12), us(1969, 9, 30, 14)

    assert repeat.next(in_the_first_pass) == us(1969, 10, 1, 12)
    assert repeat.next(in_the_second) == us(1969, 10, 1, 12)


@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Etc/GMT+12", "America/New_York"])
def test_the_calendar_has_a_first_tick_and_after_its_last_the_end(name):
    repeat = cron("* * * * *", name)

    assert EARLIEST < repeat.next(EARLIEST) < EARLIEST + 15 * 3_600_000_000
    assert repeat.next(LATEST) == LATEST
    assert cron("0 0 1 1 *", name).next(LATEST - 3_600_000_000) == LATEST


def test_equal_crons_are_equal():
    assert cron("0  3 * * *", "UTC") == cron("0 3 * * *", "UTC")
    assert cron("0 3 * * *", "UTC") != cron("0 3 * * *", "Etc/UTC")


class Field:
    """A field as text and, apart from it, the values that it stands for."""

    def __init__(self, text: str, values: set[int]) -> None:
        self.text, self.values, self.free = text, values, text == "*"

    def __repr__(self) -> str:
        return self.text


@st.composite
def parts(draw: st.DrawFn, low: int, high: int) -> Field:
    kind = draw(st.sampled_from(["*", "*/n", "a", "a/n", "a-b", "a-b/n"]))
    first, last = sorted(draw(st.tuples(st.integers(low, high), st.integers(low, high))))
    step = draw(st.integers(1, high + 1))
    text = kind.replace("a", str(first)).replace("b", str(last)).replace("n", str(step))
    if kind == "a":
        last = first
    if "*" in kind:
        first = low
    if kind in ("*", "*/n", "a/n"):
        last = high
    return Field(text, {value for value in range(first, last + 1) if "/" not in kind or (value - first) % step == 0})


@st.composite
def field(draw: st.DrawFn, low: int, high: int) -> Field:
    chosen = draw(st.just([Field("*", set(range(low, high + 1)))]) | st.lists(parts(low, high), min_size=1, max_size=3))
    return Field(",".join(part.text for part in chosen), set().union(*(part.values for part in chosen)))


@st.composite
def expressions(draw: st.DrawFn) -> list[Field]:
    return [draw(field(*bounds)) for bounds in ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))]


@st.composite
def instants(draw: st.DrawFn, place: ZoneInfo) -> datetime:
    """An instant of 2020 to 2040, most often within a day of a change of the zone's clocks."""
    start = datetime(draw(st.integers(2020, 2040)), 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=day) for day in range(365)]
    changes = [day for day in days if offset(day, place) != offset(day + timedelta(days=1), place)]
    day = draw(st.sampled_from(changes or days) | st.sampled_from(days))
    return day + timedelta(seconds=draw(st.integers(-43_200, 129_600)))


def offset(at: datetime, place: ZoneInfo) -> timedelta | None:
    return at.astimezone(place).utcoffset()


def matches(fields: list[Field], local: datetime) -> bool:
    minutes, hours, days, months, weekdays = fields
    if not (local.minute in minutes.values and local.hour in hours.values and local.month in months.values):
        return False
    on_day, on_weekday = (
        local.day in days.values,
        bool({local.isoweekday(), local.isoweekday() % 7} & weekdays.values),
    )
    return on_day and on_weekday if days.free or weekdays.free else on_day or on_weekday


def walked(
    fields: list[Field], place: ZoneInfo, after: datetime, until: datetime, back: timedelta = timedelta(hours=26)
) -> datetime | None:
    """The first real minute at which the clocks pass a matching local time not reached before.

    `back` is how far the clocks may have gone back: what they showed so long before counts as reached.
    """
    at = after.replace(second=0) - back
    reached = at.astimezone(place).replace(tzinfo=None, fold=0)
    while at < until:
        at += MINUTE
        shown = at.astimezone(place).replace(tzinfo=None, fold=0)
        while reached < shown:
            reached += MINUTE
            if at > after and matches(fields, reached):
                return at
    return None


@settings(max_examples=150, deadline=None)
@given(
    st.data(),
    expressions(),
    st.sampled_from(sorted(zoneinfo.available_timezones() - {"Factory", "localtime"})),
)
def test_a_walk_through_every_minute_finds_the_same_tick(data, fields, name):
    place = ZoneInfo(name)
    after = data.draw(instants(place))
    until = after.replace(second=0) + timedelta(hours=40)
    try:
        repeat = cron(" ".join(field.text for field in fields), name)
    except InvalidError as error:
        assert "never comes" in str(error)  # noqa: PT017 - random days and months need not meet
        return

    tick = to_datetime(repeat.next(from_datetime(after)))

    assert tick == walked(fields, place, after, until) if tick <= until else walked(fields, place, after, until) is None


# Frequent, since the walk below is short: the hours of most changes, and all of them.
NIGHTLY = ["0-5", "*/2", "1,2,3", "2", "*", "23,0,1"]


@pytest.mark.parametrize("name", sorted(zoneinfo.available_timezones() - {"Factory", "localtime"}))
def test_in_every_zone_a_walk_over_one_of_its_changes_finds_the_same_ticks(name):
    randomly, place = random.Random(name), ZoneInfo(name)
    change = change_of(place, randomly)
    minutes, hours = f"{randomly.randrange(60)}/{randomly.randint(1, 60)}", randomly.choice(NIGHTLY)
    fields = [*(Field(text, values_of(text, high)) for text, high in ((minutes, 59), (hours, 23))), *EVERY_DAY]
    after = change + timedelta(seconds=randomly.randint(-7200, 3600))
    until = after.replace(second=0) + timedelta(hours=3)

    tick = to_datetime(cron(f"{minutes} {hours} * * *", name).next(from_datetime(after)))

    # No clock of these years goes back further than two hours.
    assert walked(fields, place, after, until, timedelta(hours=2)) == (tick if tick <= until else None)


EVERY_DAY = [Field("*", set(range(32))), Field("*", set(range(13))), Field("*", set(range(8)))]


def values_of(text: str, high: int) -> set[int]:
    """What a field of the test above stands for."""
    if "/" in text:
        start, step = text.replace("*", "0").split("/")
        return set(range(int(start), high + 1, int(step)))
    if "-" in text:
        low, last = text.split("-")
        return set(range(int(low), int(last) + 1))
    return set(range(high + 1)) if text == "*" else {int(value) for value in text.split(",")}


def change_of(place: ZoneInfo, randomly: random.Random) -> datetime:
    """The hour of a change of the zone's clocks in a year of 2020 to 2040; any hour where that year has none."""
    start = datetime(randomly.randint(2020, 2040), 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=day) for day in range(366)]
    changed = [one for one, next in pairwise(days) if offset(one, place) != offset(next, place)]
    day = randomly.choice(changed or days)
    hours = [day + timedelta(hours=hour) for hour in range(25)]
    return next((later for one, later in pairwise(hours) if offset(one, place) != offset(later, place)), day)


@pytest.mark.parametrize("expression", [5, True, b"* * * * *", ["* * * * *"]])
def test_what_is_no_text_is_refused(expression: object) -> None:
    with pytest.raises(InvalidError, match="^cron "):
        cron(expression, "UTC")  # type: ignore[arg-type]
