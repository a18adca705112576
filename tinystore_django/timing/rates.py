"""Rates: how many starts a span of time may hold, written "30/s"."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import groupby

import msgspec

from ..errors import CorruptError, InvalidError, quoted
from .durations import UNITS, duration

# The most entries of a log.
LONGEST_LOG = 1_000

_read = msgspec.json.Decoder(list[tuple[int, int]]).decode
_TEXT = re.compile(rf"([0-9]{{1,18}})/([0-9]*)({'|'.join(UNITS)})")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts in any `span` microseconds."""

    count: int
    span: int

    @property
    def grain(self) -> int:
        """How finely a log of its starts tells their times, in microseconds: exactly, unless there are so many that
        the log would grow long. Times are rounded up, so that a start never counts for less than the span."""
        return 1 if self.count <= LONGEST_LOG else -(-self.span // LONGEST_LOG)

    @property
    def longest_wait(self) -> int:
        """How long a start may have to wait for another to count no more, in microseconds."""
        return self.span + self.grain


@dataclass(frozen=True, slots=True)
class Starts:
    """The latest starts under a rate, as (time, how many), the earliest first."""

    entries: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, text: str, rate: Rate, now: int) -> Starts:
        """The starts that count at `now`: those of (now - span, now].

        A start of a time to come was logged by a clock that has been set back since: it counts as one of now.
        Raises CorruptError for a text that is no such log.
        """
        latest = now + rate.grain
        counted = [(at if at <= latest else now, count) for at, count in _entries(text) if at > now - rate.span]
        times = groupby(sorted(counted), key=lambda entry: entry[0])
        return cls(tuple((at, sum(count for _, count in some)) for at, some in times))

    @property
    def text(self) -> str:
        return json.dumps(self.entries, separators=(",", ":"))

    def room(self, rate: Rate) -> int:
        """How many more may start now."""
        return max(0, rate.count - sum(count for _, count in self.entries))

    def free_at(self, rate: Rate) -> int | None:
        """When one more may start, where none may now."""
        return None if self.room(rate) else self.more_at(rate)

    def more_at(self, rate: Rate) -> int | None:
        """When more may start than now; None where nothing counts against them."""
        total = left = sum(count for _, count in self.entries)
        for at, count in self.entries:
            left -= count
            if left < min(total, rate.count):
                return at + rate.span
        return None

    def ends_at(self, rate: Rate) -> int:
        """When none of them counts any more; 0 where there are none."""
        return self.entries[-1][0] + rate.span if self.entries else 0

    def more(self, rate: Rate, now: int, count: int) -> Starts:
        """With so many that start now."""
        if not count:
            return self
        at = -(-now // rate.grain) * rate.grain
        *earlier, last = self.entries or ((at, 0),)
        if last[0] < at:
            return Starts((*self.entries, (at, count)))
        return Starts((*earlier, (last[0], last[1] + count)))


def _entries(text: str) -> list[tuple[int, int]]:
    try:
        entries: list[tuple[int, int]] = _read(text)
    except Exception as error:  # deep JSON and huge numbers have errors of their own
        raise CorruptError(f"the log of starts {quoted(text)} no longer reads: {error}") from error
    if any(count < 1 for _, count in entries):
        raise CorruptError(f"the log of starts {quoted(text)} no longer reads: it has a count below 1")
    return entries


def rate(text: str, what: str = "rate") -> Rate:
    """Reads "30/s", "5/10s", "100/m" or "1000/h": a count, and a whole number of one unit, 1 unless given.

    Raises InvalidError, whose text begins with `what`, for anything else and for a count or a span of zero.
    """
    match = _match(text)
    if match is None:
        raise InvalidError(f"{what} {quoted(text)}: write it as 30/s, 5/10s, 100/m or 1000/h")
    count, units, unit = match.groups()
    read = Rate(int(count), duration(f"{units or 1}{unit}", what))
    if not read.count or not read.span:
        raise InvalidError(f"{what} {quoted(text)}: write a count and a span of at least 1, such as 1/s")
    return read


def _match(text: object) -> re.Match[str] | None:
    return _TEXT.fullmatch(text) if isinstance(text, str) else None
