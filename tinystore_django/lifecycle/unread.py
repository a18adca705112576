"""Repeating jobs whose repeat does not read, as a zone may leave the time zone data: they wait until it reads again.

What they wait for has no time, so their rows have the last one that there is, and the reason as their error.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from ..databases.known import names_in
from ..errors import CorruptError
from ..models import Job
from ..timing import clock
from ..timing.repeats import UNREAD, Repeat, read
from .locking import State, known

# How many rows are looked at together.
BATCH = 500


def take_up(alias: str, queues: Collection[str]) -> bool:
    """Gives those of some queues that read by now the tick that is the next one after their last run; whether there
    were any."""
    texts = _waiting(alias, queues).order_by().values_list("repeat", flat=True).distinct()
    repeats = {text: repeat for text in texts if (repeat := _read(text))}
    if not repeats:
        return False
    rows = _waiting(alias, queues).filter(repeat__in=repeats).only("repeat", "last_ended_at")
    found = list(rows.order_by("at", "id")[:BATCH])
    return sum(_take_up(alias, row, repeats[row.repeat]) for row in found) > 0


def _take_up(alias: str, row: Job, repeat: Repeat) -> int:
    at: Any = repeat.next(clock.from_datetime(known(row.last_ended_at)))
    # Only while it is as it was seen: somebody may have changed, cancelled or started it.
    same = Job.objects.using(alias).filter(pk=row.pk, state=State.READY, repeat=row.repeat, at__gte=_last())
    return same.update(at=at, due=at, error=None, traceback=None)


def _waiting(alias: str, queues: Collection[str]) -> QuerySet[Job]:
    rows = Job.objects.using(alias).filter(queue__in=names_in(alias, queues), state=State.READY, at__gte=_last())
    return rows.filter(repeat__isnull=False, last_ended_at__isnull=False, error__startswith=UNREAD)


def _last() -> Any:
    return clock.LATEST


def _read(text: str | None) -> Repeat | None:
    try:
        return read(known(text))
    except CorruptError:
        return None
