"""list: the jobs of a queue in pages, each of which begins where the last one ended.

Jobs with ids come first, in the order of their ids' bytes, then those without, as they were added. Failed ones,
asked for alone, come latest end first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

from django.db.models import Case, F, Q, QuerySet, When

from ..databases import database
from ..errors import InvalidError, quoted
from ..fields import as_it_stands
from ..jobs import Job, JobPage
from ..models import Job as Row
from ..values import Codec, is_text
from ..values.text import UNKEPT
from . import flaws
from .locking import NOT_STARTED, State, known
from .reading import shown

T = TypeVar("T")
STATES = ("scheduled", "waiting", "running", "failed")
MOST = 1_000  # jobs
LONGEST = 4 * 1024 * 1024  # bytes of values
# Begins a `next` that is no id, for no id holds U+0000: a place among jobs without ids, or among failed ones.
MARK = "\0"
NUMBER = re.compile(r"[0-9]{1,19}")
NUMBERS = re.compile(MARK + r"(-?[0-9]{1,19}) ([0-9]{1,19})")
BEHIND_SURROGATES = "\ue000"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs of a queue are listed."""

    alias: str
    queue: str
    prefix: str | None = None
    state: str | None = None


def wanted(alias: str, queue: str, prefix: str | None, state: str | None) -> Wanted:
    """Checks what a list asks for.

    Raises:
        InvalidError: the prefix is no text, or there is no such state.
    """
    if prefix is not None and not isinstance(prefix, str):
        raise InvalidError(f"prefix {quoted(prefix)}: give a text, such as 'chat:'")
    if state is not None and state not in STATES:
        raise InvalidError(f"state {quoted(state)}: give one of {', '.join(STATES)}")
    return Wanted(alias, queue, prefix, state)


def page(asked: Wanted, codec: Codec[T], after: str | None = None, limit: int = 100) -> JobPage[T]:
    """One page, shorter than `limit` where its values would pass 4 MiB.

    Raises:
        InvalidError: the limit is not 1 to 1,000, or `after` is no place where a page can begin.
    """
    if type(limit) is not int or not 1 <= limit <= MOST:
        raise InvalidError(f"limit {quoted(limit)}: give a whole number from 1 to {MOST:,}")
    now = database(asked.alias).now()
    found = _found(asked, after, limit + 1, now)
    fitting = _fitting(found[:limit])
    jobs = flaws.each(_with_values(asked.alias, fitting), lambda row: shown(row, now, codec), flaws.named)
    return JobPage([job for _, job in jobs], fitting[-1].place if len(found) > len(fitting) else None)


def every(asked: Wanted, codec: Codec[T]) -> Iterator[Job[T]]:
    """All pages, each read when its first job is asked for: no cursor is held open between them."""
    found = page(asked, codec)
    yield from found.jobs
    while found.next is not None:
        found = page(asked, codec, found.next)
        yield from found.jobs


@dataclass(frozen=True, slots=True)
class Found:
    """A row of the list, without its value where that is long."""

    row: Row
    place: str  # what goes in as `after` for the page behind it
    size: int  # of its value, in bytes
    short: str | None  # the value, unless it is long


def _found(asked: Wanted, after: str | None, most: int, now: int) -> list[Found]:
    if after is not None and not isinstance(after, str):
        raise InvalidError(f"after {quoted(after)}: give the `next` of a page")
    rows = _rows(asked, now)
    if asked.state == "failed":
        return _failed(rows, after, most)
    if after is not None and after.startswith(MARK):
        return _without_ids(rows, _number(after), most)
    found = _with_ids(rows, after, most)
    if asked.prefix is None and len(found) < most:
        found += _without_ids(rows, 0, most - len(found))
    return found


def _rows(asked: Wanted, now: int) -> QuerySet[Row]:
    rows = Row.objects.using(asked.alias).filter(_in_state(asked.state, now), queue=asked.queue, released=False)
    if asked.prefix:
        rows = rows.filter(_with_prefix(asked.prefix))
    return rows


def _in_state(state: str | None, now: int) -> Q:
    not_started, failed = Q(state__in=NOT_STARTED), Q(state=State.FAILED, until__gt=now)
    conditions = {
        None: not_started | Q(state=State.RUNNING) | failed,
        "scheduled": not_started & Q(at__gt=now),
        "waiting": not_started & Q(at__lte=now),
        "running": Q(state=State.RUNNING),
        "failed": failed,
    }
    return conditions[state]


def _with_prefix(prefix: str) -> Q:
    """A range of the index: LIKE would ignore case on SQLite."""
    if not is_text(prefix):
        return Q(pk__in=[])  # no id holds U+0000 or a lone surrogate, or is so long
    end = _behind(prefix)
    return Q(key__gte=prefix) & (Q() if end is None else Q(key__lt=end))


def _behind(prefix: str) -> str | None:
    """The first text behind all that begin with a prefix; None where there is none."""
    start = prefix.rstrip(chr(sys.maxunicode))
    if not start:
        return None
    last = ord(start[-1]) + 1
    # The code points behind U+D7FF are halves of surrogate pairs, and no characters.
    return start[:-1] + (BEHIND_SURROGATES if 0xD800 <= last <= 0xDFFF else chr(last))


def _with_ids(rows: QuerySet[Row], after: str | None, most: int) -> list[Found]:
    rows = rows.filter(_after_text(after) if after else Q(), key__isnull=False)
    return _read(rows.order_by("key"), most, lambda row: known(row.key))


def _after_text(after: str) -> Q:
    """The ids behind any text, also one that no id could be."""
    unkept = UNKEPT.search(after)
    if unkept is None:
        return Q(key__gt=after)
    start = after[: unkept.start()]
    # In the order of bytes an id comes behind U+0000 whatever it goes on with, and behind half of a surrogate pair
    # if it goes on with the first character behind all of those.
    return Q(key__gt=start) if unkept[0] == MARK else Q(key__gte=start + BEHIND_SURROGATES)


def _without_ids(rows: QuerySet[Row], after: int, most: int) -> list[Found]:
    rows = rows.filter(key__isnull=True, pk__gt=after)
    return _read(rows.order_by("pk"), most, lambda row: f"{MARK}{row.pk}")


def _failed(rows: QuerySet[Row], after: str | None, most: int) -> list[Found]:
    if after:
        ended, pk = _numbers(after)
        rows = rows.filter(Q(ended_at__lt=ended) | Q(ended_at=ended, pk__lt=pk))
    latest: Any = (
        rows.filter(ended_at__isnull=False).annotate(ended=as_it_stands("ended_at")).order_by("-ended_at", "-pk")
    )
    return _read(latest, most, lambda row: f"{MARK}{row.ended} {row.pk}")


def _read(rows: QuerySet[Row], most: int, place: Callable[[Any], str]) -> list[Found]:
    """The first rows. Values so short that they are sure to fit come along, to spare the page a second look."""
    size = database(rows.db).size_expression("value")
    short = Case(When(size__lte=LONGEST // most, then=F("value")))
    sized = rows.defer("value", "traceback").annotate(size=size, short=short)
    return [Found(row, place(row), row.size, row.short) for row in sized[:most]]


def _with_values(alias: str, found: list[Found]) -> Iterator[Row]:
    long = [one.row.pk for one in found if one.short is None]
    rows = Row.objects.using(alias).in_bulk(long) if long else {}
    for one in found:
        if one.short is not None:
            one.row.value = one.short
            yield one.row
        elif one.row.pk in rows:  # else it went between the two looks
            yield rows[one.row.pk]


def _number(after: str) -> int:
    if not NUMBER.fullmatch(after, 1):
        raise InvalidError(f"after {quoted(after)}: give the `next` of a page")
    return int(after[1:])


def _numbers(after: str) -> tuple[int, int]:
    match = NUMBERS.fullmatch(after)
    if match is None:
        raise InvalidError(f"after {quoted(after)}: give the `next` of a page of failed jobs")
    return int(match[1]), int(match[2])


def _fitting(found: list[Found]) -> list[Found]:
    """The first of them whose values together stay within a page's size; one at least."""
    sizes = accumulate(one.size for one in found)
    return [one for place, (one, size) in enumerate(zip(found, sizes, strict=True)) if not place or size <= LONGEST]
