"""Spans of time: "1h30m" or a timedelta, as whole microseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TypeAlias

from ..errors import InvalidError, quoted
from .clock import EARLIEST, LATEST, MICROSECOND

Span: TypeAlias = timedelta | str

UNITS = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
}
"""Microseconds of each unit, largest first."""

LONGEST = LATEST - EARLIEST + 1
"""A span from the year 1 to the end of 9999: no time can be further off, so longer ones are cut to it."""

_TEXT = re.compile("".join(f"(?:([0-9]+){unit})?" for unit in UNITS))
_MOST_DIGITS = 30  # more than any span needs, and int() of a very long text is slow
_LONGEST_GIVEN = timedelta.max // MICROSECOND


def duration(span: Span, what: str) -> int:
    """Returns a span in microseconds, at most LONGEST.

    A span is a timedelta >= 0, or text such as "1w2d" or "1h30m": whole numbers of w d h m s ms, each once at
    most, largest first. Raises InvalidError, whose text begins with `what`, for anything else.
    """
    us = _of_text(span, what) if isinstance(span, str) else _of_timedelta(span, what)
    return min(us, LONGEST)


def in_words(us: int) -> str:
    """Returns a span as text, such as "1h30m"; what is left below a millisecond is written in us."""
    words = []
    for unit, size in (*UNITS.items(), ("us", 1)):
        count, us = divmod(us, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words) or "0s"


def _of_text(text: str, what: str) -> int:
    match = _TEXT.fullmatch(text)
    if not text or match is None:
        raise InvalidError(f"{what} {quoted(text)}: write it as 30d, 1h30m, 15m, 1s or 500ms")
    counts = [(count or "0").lstrip("0") or "0" for count in match.groups()]
    if any(len(count) > _MOST_DIGITS for count in counts):
        raise _too_long(text, what)
    us = sum(int(count) * size for count, size in zip(counts, UNITS.values(), strict=True))
    if us > _LONGEST_GIVEN:
        raise _too_long(text, what)
    return us


def _of_timedelta(span: object, what: str) -> int:
    if not isinstance(span, timedelta):
        raise InvalidError(f"{what} {quoted(span)}: give a timedelta, or text such as 30d, 1h30m, 15m or 1s")
    if span < timedelta(0):
        raise InvalidError(f"{what} {quoted(span)}: a span cannot be negative, give timedelta(0) or more")
    return span // MICROSECOND


def _too_long(text: str, what: str) -> InvalidError:
    return InvalidError(f"{what} {quoted(text)}: too long, write a span of at most {timedelta.max.days} days")
