"""Rates: how many starts a span of time may hold, written "30/s"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import InvalidError, quoted
from .durations import UNITS, duration

_TEXT = re.compile(rf"([0-9]{{1,18}})/([0-9]*)({'|'.join(UNITS)})")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts in any `span` microseconds."""

    count: int
    span: int


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
