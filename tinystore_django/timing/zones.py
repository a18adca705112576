"""Time zones: what their clocks show at an instant, and the instant of what they show.

A local time is a whole number of microseconds since 1970-01-01 00:00 on the zone's own clocks.
"""

from __future__ import annotations

import zoneinfo
from bisect import bisect_left
from datetime import timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from ..errors import InvalidError, quoted
from .clock import EARLIEST, EPOCH, LATEST, MICROSECOND, from_datetime, to_datetime
from .durations import UNITS

LOCAL_EPOCH = EPOCH.replace(tzinfo=None)

# Files of a machine's zone directory that say where it stands or what it lacks: they name no zone.
_NO_ZONES = {"localtime", "Factory"}
# Python cannot shift the first and last hours of its calendar; no zone changes its clocks in those days.
_MARGIN = 2 * UNITS["d"]
_SECOND = UNITS["s"]


def zone(name: str) -> ZoneInfo:
    """Returns the zone of an IANA name, such as "Europe/Berlin". Raises InvalidError for any other text."""
    if not _is_zone(name):
        raise InvalidError(f"time_zone {quoted(name)}: write an IANA name, such as Europe/Berlin or UTC")
    return ZoneInfo(name)


def shown(instant: int, place: tzinfo) -> int:
    """Returns the local time that the zone's clocks show at an instant."""
    shiftable = _shiftable(instant)
    local = to_datetime(shiftable).astimezone(place).replace(tzinfo=None)
    return (local - LOCAL_EPOCH) // MICROSECOND + instant - shiftable


def instant_of(local: int, place: tzinfo, fold: int = 0) -> int:
    """Returns the instant at which the zone's clocks show a local time.

    Where clocks go back it comes twice: fold 0 is the first pass, 1 the second. Where they go forward past it
    it is the first instant after the gap.
    """
    instant = _read(local, place, fold)
    return instant if shown(instant, place) == local else _after_gap(local, place)


def _after_gap(local: int, place: tzinfo) -> int:
    # By the offset after the gap (fold 1) it lies before the change, by the one before the gap after it.
    around = range(_read(local, place, 1) // _SECOND, _read(local, place, 0) // _SECOND + 1)
    return around[bisect_left(around, local, key=lambda second: shown(second * _SECOND, place))] * _SECOND


def _read(local: int, place: tzinfo, fold: int) -> int:
    shiftable = _shiftable(local)
    naive = LOCAL_EPOCH + timedelta(microseconds=shiftable)
    return from_datetime(naive.replace(tzinfo=place, fold=fold)) + local - shiftable


def _is_zone(name: object) -> bool:
    return isinstance(name, str) and name in _names()


def _shiftable(us: int) -> int:
    return min(max(us, EARLIEST + _MARGIN), LATEST - _MARGIN)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones() - _NO_ZONES)
