"""Cron: a crontab placed in a time zone.

Clocks forward: a local time inside the gap comes at the first instant after it, several of them at once.
Clocks back: a local time that is shown twice comes in its first pass only, for `*` and steps too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from .clock import LATEST
from .crontab import Crontab, crontab, tidy
from .durations import UNITS
from .wording import in_words
from .zones import instant_of, shown, zone

_MINUTE = UNITS["m"]
_FURTHEST_BACK = 26 * 60  # minutes; the largest step back of any zone's clocks is a day, at the date line


@dataclass(frozen=True, slots=True)
class Cron:
    """A repeat at the times of a crontab in a zone."""

    expression: str = field(compare=False)  # @daily and 0 0 * * * are one repeat
    zone: ZoneInfo
    crontab: Crontab

    @property
    def text(self) -> str:
        """The form a row keeps: "10 3 * * * Europe/Berlin"."""
        return f"{self.expression} {self.zone.key}"

    def next(self, after: int) -> int:
        """Returns the first tick strictly after an instant, in microseconds; LATEST when there is none."""
        local = self.crontab.first(self._first_new(after))
        return LATEST if local is None else min(self._instant(local), LATEST)

    def in_words(self, gettext: Callable[[str], str] = str) -> str:
        """Returns the repeat as an operator reads it: "every day at 03:10 (Europe/Berlin)", in English unless
        `gettext` translates it."""
        return f"{in_words(self.crontab, gettext) or self.expression} ({self.zone.key})"

    def _first_new(self, after: int) -> int:
        # What the clocks had shown by then has had its tick: in a second pass, all that the first one showed.
        now = shown(after, self.zone) // _MINUTE
        return now + bisect_right(range(now, now + _FURTHEST_BACK), after, key=self._instant)

    def _instant(self, minute: int) -> int:
        return instant_of(minute * _MINUTE, self.zone)


def cron(expression: str, time_zone: str) -> Cron:
    """Reads a cron expression and an IANA zone. Raises InvalidError, naming which, when either is none."""
    read = crontab(expression)  # first: what is no text cannot be tidied
    return Cron(tidy(expression), zone(time_zone), read)
