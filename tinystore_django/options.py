"""What a queue is told when it is declared: checked at once, kept in the units the store works with."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any

from .errors import InvalidError, quoted
from .timing.durations import Span, duration
from .timing.rates import Rate
from .timing.rates import rate as read_rate

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MOST = 2**31 - 1  # what an integer column holds on every database
_MOST_DOUBLINGS = 64  # a microsecond doubled that often is longer than any span


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a job waits after a failed attempt: `initial`, then twice as long each time, at most `max`.

    Both are spans: a timedelta, or text such as "5s".
    Raises InvalidError unless initial > 0 and max >= initial.
    """

    initial: Span = field(compare=False)
    max: Span = field(compare=False)
    initial_us: int = field(init=False, repr=False)
    max_us: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        initial, longest = duration(self.initial, "backoff's initial"), duration(self.max, "backoff's max")
        if not initial:
            raise InvalidError(f"backoff's initial {quoted(self.initial)}: give a span above 0, such as 1s")
        if longest < initial:
            raise InvalidError(f"backoff's max {quoted(self.max)}: give at least its initial, {quoted(self.initial)}")
        object.__setattr__(self, "initial_us", initial)
        object.__setattr__(self, "max_us", longest)

    def delay(self, failures: int) -> int:
        """Returns the wait after the n-th failed attempt, n >= 1, in microseconds."""
        return min(self.initial_us << min(failures - 1, _MOST_DOUBLINGS), self.max_us)

    def jittered(self, failures: int, random: float) -> int:
        """Returns the wait times 0.9 to 1.1, by a random number in [0, 1), so that retries spread out."""
        return round(self.delay(failures) * (0.9 + 0.2 * random))


DEFAULT_BACKOFF = Backoff("1s", "1h")


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """How many jobs of a queue run at once over all workers: `total` in all, `group` in each group.

    None is no limit; at least one is given. Raises InvalidError for anything but whole numbers >= 1.
    """

    total: int | None = None
    group: int | None = None

    def __post_init__(self) -> None:
        if self.total is None and self.group is None:
            raise InvalidError("concurrency without a limit: write Concurrency(total=8) or Concurrency(group=2)")
        _optional(whole, self.total, "concurrency's total")
        _optional(whole, self.group, "concurrency's group")


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """A queue's options as the store obeys them: spans in microseconds, None for no limit or nothing kept."""

    attempts: int
    backoff: Backoff
    timeout: int
    concurrency: Concurrency | None
    rate: Rate | None
    group_rate: Rate | None
    dedupe: int | None
    keep: int
    keep_done: int | None
    max_waiting: int | None

    @property
    def total(self) -> int | None:
        """How many of the queue's jobs may run at once."""
        return self.concurrency.total if self.concurrency else None

    @property
    def group(self) -> int | None:
        """How many of one group's jobs may run at once."""
        return self.concurrency.group if self.concurrency else None

    @property
    def heads(self) -> int | None:
        """How many of one group's jobs may start at one moment: the others behind them are set aside."""
        bounds = [self.group, self.group_rate.count if self.group_rate else None]
        return min((bound for bound in bounds if bound is not None), default=None)

    @property
    def only_total(self) -> bool:
        """Whether a total is its only limit, which the claim itself can count."""
        return self.total is not None and self.heads is None and self.rate is None

    @property
    def limited(self) -> bool:
        """Whether a start depends on other runs, so that a claim must look at them."""
        return bool(self.concurrency or self.rate or self.group_rate)


def queue_options(
    *,
    attempts: int = 10,
    backoff: Backoff = DEFAULT_BACKOFF,
    timeout: Span = "1m",
    concurrency: int | Concurrency | None = None,
    rate: str | None = None,
    group_rate: str | None = None,
    dedupe: Span | None = None,
    keep: Span = "7d",
    keep_done: Span | None = None,
    max_waiting: int | None = None,
) -> QueueOptions:
    """Checks a queue's options and returns them parsed. Raises one InvalidError that names every bad one."""
    return QueueOptions(
        **_read_all(
            attempts=partial(whole, attempts),
            backoff=partial(_backoff, backoff),
            timeout=partial(_positive, timeout),
            concurrency=partial(_optional, _concurrency, concurrency),
            rate=partial(_optional, read_rate, rate),
            group_rate=partial(_optional, read_rate, group_rate),
            dedupe=partial(_optional, _window, dedupe),
            keep=partial(duration, keep),
            keep_done=partial(_optional, _window, keep_done),
            max_waiting=partial(_optional, whole, max_waiting),
        )
    )


def check_known(call: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raises TypeError, as Python does of a call that takes no such argument, unless all names are known."""
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {quoted(close[0])}?" if close else f"it takes {', '.join(known)}"
            raise TypeError(f"{call}() got an unexpected keyword argument {quoted(name)}: {hint}")


def check_name(name: str, what: str = "queue") -> str:
    """Returns a queue's or schedule's name. Raises InvalidError unless it is [a-z0-9][a-z0-9_-]{0,63}."""
    if not _is_name(name):
        raise InvalidError(
            f"{what} name {quoted(name)}: write 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit"
        )
    return name


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _read_all(**readers: Callable[[str], object]) -> dict[str, Any]:
    read, problems = {}, []
    for what, reader in readers.items():
        try:
            read[what] = reader(what)
        except InvalidError as error:
            problems.append(str(error))
    if problems:
        raise InvalidError("; ".join(problems))
    return read


def _optional(read: Callable[[Any, str], object], given: object, what: str) -> object:
    return None if given is None else read(given, what)


def whole(given: object, what: str) -> int:
    # Exactly int: a bool is one to Python, and attempts=True a slip.
    if type(given) is not int or not 1 <= given <= _MOST:
        raise InvalidError(f"{what} {quoted(given)}: give a whole number from 1 to {_MOST:,}")
    return given


def _positive(span: Span, what: str) -> int:
    us = duration(span, what)
    if not us:
        raise InvalidError(f"{what} {quoted(span)}: give a span above 0, such as 1s")
    return us


def _window(span: Span, what: str) -> int | None:
    return duration(span, what) or None  # an empty window keeps nothing, as none does


def _backoff(given: object, what: str) -> Backoff:
    if not isinstance(given, Backoff):
        raise InvalidError(f'{what} {quoted(given)}: write Backoff("1s", "1h")')
    return given


def _concurrency(given: object, what: str) -> Concurrency:
    return given if isinstance(given, Concurrency) else Concurrency(total=whole(given, what))
