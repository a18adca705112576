"""The only reader of the process's time.

A time is a whole number of microseconds since 1970 in UTC, so that sums and comparisons are exact.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
"""The start of the year 1, in microseconds since 1970."""

LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
"""The last microsecond of the year 9999."""

_lock = threading.Lock()
_frozen: int | None = None
_on_move: list[Callable[[], None]] = []


def now() -> int:
    """Returns the present time in microseconds: a test clock's while one is set, else the process's."""
    at = _frozen
    return time.time_ns() // 1000 if at is None else at


def frozen() -> int | None:
    """Returns the test clock's time in microseconds, or None while the process's time counts."""
    return _frozen


def set_frozen(us: int | None) -> None:
    """Makes `us` the time until the next call; None lets the process's time count again."""
    global _frozen
    with _lock:
        _frozen = us
        callbacks = tuple(_on_move)
    # Outside the lock: a callback may well ask for the time, or wake a thread that moves it.
    for callback in callbacks:
        callback()


def on_move(callback: Callable[[], None]) -> None:
    """Has `callback` called after each move of a test clock, in the thread that moved it."""
    with _lock:
        _on_move.append(callback)


def to_datetime(us: int) -> datetime:
    """Returns an instant as an aware datetime in UTC; outside the years 1 to 9999, the nearest that there is."""
    return EPOCH + timedelta(microseconds=min(max(us, EARLIEST), LATEST))


def from_datetime(at: datetime) -> int:
    """Returns an aware datetime as microseconds since 1970, exactly. Raises TypeError for a naive one."""
    return (at - EPOCH) // MICROSECOND
