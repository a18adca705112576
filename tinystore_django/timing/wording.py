"""A crontab in words, for the shapes that most of them have."""

from __future__ import annotations

from .crontab import Crontab

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def in_words(crontab: Crontab) -> str | None:
    """Returns "every day at 03:10" or the like; None where the expression itself says it best."""
    if len(crontab.minutes) > 1 or len(crontab.months) < 12 or crontab.either:
        return None
    if len(crontab.hours) == 24 and len(crontab.days) == 31 and len(crontab.weekdays) == 7:
        return f"every hour at minute {crontab.minutes[0]}"
    return f"{_days(crontab)} at {_hour(crontab)}" if len(crontab.hours) == 1 else None


def _days(crontab: Crontab) -> str:
    if len(crontab.weekdays) < 7:
        return "every " + ", ".join(_WEEKDAYS[day] for day in crontab.weekdays)
    if len(crontab.days) < 31:
        return "every month on day " + ", ".join(map(str, crontab.days))
    return "every day"


def _hour(crontab: Crontab) -> str:
    return f"{crontab.hours[0]:02}:{crontab.minutes[0]:02}"
