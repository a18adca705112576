"""What a call says of a job's time, group and repeat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, Unpack

from ..errors import InvalidError, quoted
from ..options import check_known
from ..timing import clock
from ..timing.durations import Span, duration
from ..timing.moments import instant, later
from ..timing.repeats import Repeat, repeat
from ..values import check_text


@dataclass(frozen=True, slots=True)
class Placing:
    """The checked timing of one call; None where the call says nothing."""

    at: int | None = None  # microseconds since 1970
    delay: int | None = None  # microseconds from now
    group: str | None = None
    repeat: Repeat | None = None

    @property
    def timed(self) -> bool:
        """Whether the call says when, by a time or by a repeat."""
        return not (self.at is None and self.delay is None and self.repeat is None)

    @property
    def repeat_text(self) -> str | None:
        return self.repeat.text if self.repeat else None

    def time(self, now: int) -> int:
        """When the job is due: the time given, else the repeat's next tick, else now."""
        given = self.at is not None or self.delay is not None
        return self.repeat.next(now) if self.repeat and not given else self.given(now)

    def given(self, now: int) -> int:
        """The time given, else now, whatever the repeat."""
        if self.at is not None:
            return self.at
        return now if self.delay is None else later(now, self.delay, "delay")


class When(TypedDict, total=False):
    """What add, set and update take of a job's time, group and repeat."""

    at: datetime | None
    delay: Span | None
    group: str | None
    every: Span | None
    cron: str | None
    time_zone: str | None


TAKEN = ("id", *When.__annotations__)


def place(call: str, id: str | None, **when: Unpack[When]) -> Placing:
    """Checks what a call says of a job's time, group and repeat.

    Raises:
        TypeError: the call takes no such argument.
        InvalidError: one of them cannot be, or two of them cannot be together.
    """
    check_known(f"Queue.{call}", when, TAKEN)
    return _place(id, **when)


def _place(
    id: str | None,
    *,
    at: datetime | None = None,
    delay: Span | None = None,
    group: str | None = None,
    every: Span | None = None,
    cron: str | None = None,
    time_zone: str | None = None,
) -> Placing:
    if at is not None and delay is not None:
        raise InvalidError(f"at {quoted(at)} with delay {quoted(delay)}: give one of them")
    placing = Placing(
        None if at is None else instant(at, "at"),
        None if delay is None else duration(delay, "delay"),
        None if group is None else check_text(group, "group"),
        repeat(id, every=every, cron=cron, time_zone=time_zone),
    )
    if placing.delay is not None:
        later(clock.now(), placing.delay, "delay")  # a delay past the year 9999 is refused before anything is written
    return placing
