"""Instants: what a caller gives as `at` or `delay`, as microseconds since 1970."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils import timezone

from ..errors import InvalidError, quoted
from .clock import EARLIEST, LATEST, MICROSECOND, from_datetime
from .durations import in_words
from .zones import LOCAL_EPOCH, instant_of


def instant(at: datetime, what: str) -> int:
    """Returns the instant of a datetime in microseconds, whatever its zone.

    Naive is read in settings.TIME_ZONE where USE_TZ is False: its fold as given, a time in a gap as the first
    instant after it. Raises InvalidError for naive where USE_TZ is True, for what is no datetime, and outside
    the years 1 to 9999 in UTC.
    """
    if not isinstance(at, datetime):
        raise InvalidError(f"{what} {quoted(at)}: give a datetime, such as timezone.now() + timedelta(1)")
    us = _of_naive(at, what) if timezone.is_naive(at) else from_datetime(at)
    if not EARLIEST <= us <= LATEST:
        raise InvalidError(f"{what} {quoted(at)}: give a time within the years 1 to 9999 in UTC")
    return us


def later(now_us: int, delay_us: int, what: str) -> int:
    """Returns the instant a delay after another. Raises InvalidError when that is past the year 9999."""
    if now_us + delay_us > LATEST:
        raise InvalidError(f"{what} {in_words(delay_us)}: give one that ends within the year 9999")
    return now_us + delay_us


def capped(us: int) -> int:
    """Returns an instant brought into the years 1 to 9999."""
    return min(max(us, EARLIEST), LATEST)


def _of_naive(at: datetime, what: str) -> int:
    if settings.USE_TZ:
        raise InvalidError(f"{what} {quoted(at)} has no time zone: write timezone.make_aware(at)")
    local = (at.replace(tzinfo=None) - LOCAL_EPOCH) // MICROSECOND
    return instant_of(local, timezone.get_default_timezone(), at.fold)
