"""Repeats: what `every`, `cron` and `time_zone` mean, and the text a row keeps of it."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from django.conf import settings

from ..errors import CorruptError, InvalidError, quoted
from . import intervals
from .cron import Cron
from .cron import cron as read_cron
from .durations import LONGEST, UNITS, Span, duration
from .intervals import Interval

# How the reason begins that a kept repeat does not read.
UNREAD = "the kept repeat "

Repeat: TypeAlias = Interval | Cron
"""Has `.text`, `.next(after)` and `.in_words(gettext)`."""


def repeat(
    id: str | None,
    *,
    every: Span | None = None,
    cron: str | None = None,
    time_zone: str | None = None,
) -> Repeat | None:
    """Returns the repeat that a call's arguments ask for, None when they ask for none.

    `every` is a span of at least 1 s, `cron` an expression in `time_zone`, settings.TIME_ZONE unless given.
    Raises InvalidError for both at once, a time_zone without cron, a repeat without an id, and for bad ones.
    """
    if time_zone is not None and cron is None:
        raise InvalidError(f"time_zone {quoted(time_zone)} without cron: give it beside cron, or leave it out")
    if every is not None and cron is not None:
        raise InvalidError(f"every {quoted(every)} with cron {quoted(cron)}: give one of them")
    if every is not None:
        return intervals.interval(_repeated(id), _period(every))
    if cron is not None:
        _repeated(id)
        return read_cron(cron, settings.TIME_ZONE if time_zone is None else time_zone)
    return None


@lru_cache(maxsize=512)
def read(text: str) -> Repeat:
    """Reads the text that a row keeps, such as "@every 30s +18005ms" or "10 3 * * * Europe/Berlin".

    Raises CorruptError for a text that is no repeat, or no longer: a zone may leave the time zone data.
    """
    if kept := intervals.read(text):
        return kept
    expression, _, time_zone = text.rpartition(" ")
    try:
        return read_cron(expression, time_zone)
    except InvalidError as error:
        raise CorruptError(f"{UNREAD}{quoted(text)} no longer reads: {error}") from error


def is_kept_as(repeat: Repeat, text: str | None) -> bool:
    """Says whether a row's text means the same repeat, however that was written."""
    try:
        return text is not None and read(text) == repeat
    except CorruptError:
        return False


def _repeated(id: str | None) -> str:
    if id is None:
        raise InvalidError("a repeat needs an id: give one, as in id='report', beside every or cron")
    return id


def _period(every: Span) -> int:
    us = duration(every, "every")
    if us < UNITS["s"] or us >= LONGEST:
        raise InvalidError(f"every {quoted(every)}: give a span of at least 1s and below 9999 years")
    if us % UNITS["ms"]:
        raise InvalidError(f"every {quoted(every)}: give whole milliseconds")
    return us // UNITS["ms"]
