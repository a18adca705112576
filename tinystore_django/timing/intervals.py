"""Intervals: a repeat every so often, at a phase of its own.

The phase comes from the job's id: a million jobs spread out over their period, and a restart moves none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .clock import LATEST
from .durations import UNITS, in_words

_TEXT = re.compile(r"@every ([0-9]{1,15})(h|m|s|ms) \+([0-9]{1,18})ms")
_MILLISECOND = UNITS["ms"]
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@dataclass(frozen=True, slots=True)
class Interval:
    """A repeat at the unix milliseconds t with t mod period == phase; both are milliseconds."""

    period: int
    phase: int

    @property
    def text(self) -> str:
        """The form a row keeps: "@every 30s +18005ms", in the largest of h, m, s, ms that fits."""
        us = self.period * _MILLISECOND
        unit = next(unit for unit in ("h", "m", "s", "ms") if us % UNITS[unit] == 0)
        return f"@every {us // UNITS[unit]}{unit} +{self.phase}ms"

    def next(self, after: int) -> int:
        """Returns the first tick strictly after an instant, in microseconds; LATEST when there is none."""
        earliest = after // _MILLISECOND + 1
        return min((earliest + (self.phase - earliest) % self.period) * _MILLISECOND, LATEST)

    def in_words(self, gettext: Callable[[str], str] = str) -> str:
        """Returns the repeat as an operator reads it: "every 1h30m", in English unless `gettext` translates it."""
        return gettext("every %(span)s") % {"span": in_words(self.period * _MILLISECOND)}


def interval(id: str, period: int) -> Interval:
    """Returns the interval of a period in milliseconds, at the phase of an id."""
    # Whether an id can be is not judged here, so one with a lone surrogate must not break.
    return Interval(period, _fnv_1a(id.encode(errors="surrogatepass")) % period)


def read(text: str) -> Interval | None:
    """Reads a kept interval; None where the text is none."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    count, unit, phase = match.groups()
    period = int(count) * UNITS[unit] // _MILLISECOND
    return Interval(period, int(phase)) if int(phase) < period else None


def _fnv_1a(data: bytes) -> int:
    # FNV-1a, 64 bits: the same on every machine, and even over ids that differ in one digit.
    hashed = _FNV_OFFSET
    for byte in data:
        hashed = (hashed ^ byte) * _FNV_PRIME % 2**64
    return hashed
