"""Crontab expressions: the local times that five fields stand for, with no zone in sight.

croniter judges each field's values: their bounds, their names, a step of zero. A stricter shape stands before
it, since croniter also takes what is no crontab (a sixth field, 15W, L, 5#2, SAT-SUN), and the ranges are
expanded here, since it reads 3-3 as the whole field and MON/2 without its Sunday.

A local time is a whole number of minutes since 1970-01-01 00:00 on a clock that knows no zone.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, date

from croniter import CroniterError, croniter

from ..errors import InvalidError, quoted

DAY = 24 * 60

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal() - _EPOCH_DAY

_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

_MOST_CHARACTERS = 1000  # every minute, hour, day, month and weekday listed one by one takes some 400
_BLANKS = re.compile(r"[ \t]+")
_VALUE = "(?:[0-9]{1,9}|[a-z]{3})"
_PART = re.compile(rf"(?:\*|{_VALUE}(?:-{_VALUE})?)(?:/[0-9]{{1,9}})?")


@dataclass(frozen=True, slots=True)
class Crontab:
    """The minutes, hours, days, months and weekdays (0 is Sunday) of an expression, each ascending."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either: bool
    """Whether a day that matches one of days and weekdays is enough: neither field is a bare `*`."""

    def first(self, since: int) -> int | None:
        """Returns the first local time of the expression from this one on, None past the year 9999."""
        today, time = divmod(since, DAY)
        for day in self._days(today):
            found = self._time(time if day == today else 0)
            if found is not None:
                return day * DAY + found
        return None

    def _time(self, since: int) -> int | None:
        hours = (hour for hour in self.hours if hour >= since // 60)
        times = (hour * 60 + minute for hour in hours for minute in self.minutes)
        return next((time for time in times if time >= since), None)

    def _days(self, since: int) -> Iterator[int]:
        if since > _LAST_DAY:
            return
        start = date.fromordinal(max(since + _EPOCH_DAY, 1))
        for year in range(start.year, MAXYEAR + 1):
            for month in self.months:
                if (year, month) >= (start.year, start.month):
                    yield from (day for day in self._days_of(year, month) if day >= since)

    def _days_of(self, year: int, month: int) -> Iterator[int]:
        weekday, length = monthrange(year, month)  # 0 is Monday here, so that day 1 is weekday + 1 in a crontab
        before = date(year, month, 1).toordinal() - _EPOCH_DAY - 1
        matching = any if self.either else all
        for day in range(1, length + 1):
            if matching((day in self.days, (weekday + day) % 7 in self.weekdays)):
                yield before + day


def crontab(expression: str) -> Crontab:
    """Reads five fields, or @hourly and the like. Raises InvalidError for others, and if it never comes."""
    minutes, hours, days, months, weekdays = _fields(expression)
    read = Crontab(
        minutes=_values(expression, minutes, range(60)),
        hours=_values(expression, hours, range(24)),
        days=_values(expression, days, range(1, 32)),
        months=_values(expression, months, range(1, 13), _MONTHS),
        weekdays=tuple(sorted({day % 7 for day in _values(expression, weekdays, range(8), _WEEKDAYS)})),
        either="*" not in (days, weekdays),
    )
    if not read.either and not any(read.days[0] <= _LONGEST[month - 1] for month in read.months):
        raise InvalidError(f"cron {quoted(expression)} never comes: none of its months has such a day")
    return read


def tidy(expression: str) -> str:
    """Returns the expression as written, its fields one space apart."""
    return " ".join(_BLANKS.split(expression.strip(" \t")))


def _fields(expression: str) -> list[str]:
    fields = _spelled_out(expression).split(" ")
    if len(fields) != 5 or not all(_PART.fullmatch(part) for field in fields for part in field.split(",")):
        raise _unreadable(expression)
    try:
        croniter.expand(" ".join(fields))
    except CroniterError as error:
        raise _unreadable(expression) from error
    return fields


def _spelled_out(expression: object) -> str:
    if not isinstance(expression, str) or len(expression) > _MOST_CHARACTERS:
        raise _unreadable(expression)
    text = tidy(expression).lower()
    return _ALIASES.get(text, text)


def _values(expression: str, field: str, every: range, names: Sequence[str] = ()) -> tuple[int, ...]:
    values: set[int] = set()
    for part in field.split(","):
        found = _values_of(part, every, names)
        if not found:
            raise InvalidError(f"cron {quoted(expression)}: {part} goes down, write it as two ranges")
        values.update(found)
    return tuple(sorted(values))


def _values_of(part: str, every: range, names: Sequence[str]) -> range:
    ends, _, step = part.partition("/")
    if ends == "*":
        return every[:: int(step or 1)]
    low, _, high = ends.partition("-")
    start = _number(low, every, names)
    last = every[-1] if step else start  # "5/15" is from 5 on, "5" is 5
    return range(start, (_number(high, every, names) if high else last) + 1, int(step or 1))


def _number(text: str, every: range, names: Sequence[str]) -> int:
    return every[names.index(text)] if text in names else int(text)


def _unreadable(expression: object) -> InvalidError:
    return InvalidError(
        f"cron {quoted(expression)}: write minute hour day month weekday, "
        f"within 0-59 0-23 1-31 1-12 0-7, such as 10 3 * * MON-FRI"
    )
