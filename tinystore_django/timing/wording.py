"""A crontab in words, for the shapes that most of them have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .crontab import Crontab

Translate: TypeAlias = Callable[[str], str]

# In every catalogue of Django's own.
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def in_words(crontab: Crontab, gettext: Translate = str) -> str | None:
    """Returns "every day at 03:10" or the like; None where the expression itself says it best.

    `gettext` translates the words; left out, they are English.
    """
    if len(crontab.minutes) > 1 or len(crontab.months) < 12 or crontab.either:
        return None
    if len(crontab.hours) == 24 and len(crontab.days) == 31 and len(crontab.weekdays) == 7:
        return gettext("every hour at minute %(minute)s") % {"minute": crontab.minutes[0]}
    if len(crontab.hours) > 1:
        return None
    return gettext("%(days)s at %(time)s") % {"days": _days(crontab, gettext), "time": _hour(crontab)}


def _days(crontab: Crontab, gettext: Translate) -> str:
    if len(crontab.weekdays) < 7:
        weekdays = ", ".join(gettext(_WEEKDAYS[day]) for day in crontab.weekdays)
        return gettext("every %(weekdays)s") % {"weekdays": weekdays}
    if len(crontab.days) < 31:
        return gettext("every month on day %(days)s") % {"days": ", ".join(map(str, crontab.days))}
    return gettext("every day")


def _hour(crontab: Crontab) -> str:
    return f"{crontab.hours[0]:02}:{crontab.minutes[0]:02}"
