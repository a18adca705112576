"""Rows that a queue left under a name that is a schedule's by now, or the reverse: neither runs the other's.

They are set aside, with their value, until a worker comes that knows the name as theirs, as where a
deploy is taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Count, QuerySet

from ..databases import database
from ..databases.repeating import NOTHING, named
from ..databases.rows import Held
from ..models import Job
from .aftermath import Ending
from .locking import NOT_STARTED, State, known
from .refused import settle_all
from .settling import Finished, Settling


def is_stranger(held: Held, is_schedule: bool) -> bool:
    """Whether a claimed row is none of a schedule where a schedule has its name, or the reverse."""
    return (held.value == NOTHING) != is_schedule


def put_aside(alias: str, strangers: Sequence[Held]) -> Settling:
    """Gives claimed rows back, their attempt not counted, so that no claim finds them."""
    return settle_all(alias, [Finished(held, Ending("aside"), None, True, True) for held in strangers])


def of_queues(alias: str, schedules: Collection[str]) -> Mapping[str, int]:
    """Sets aside what queues left under the names of these schedules; by name, how many of such jobs there are."""
    if not schedules:
        return {}
    rows = _of_queues(alias, schedules).values("queue").annotate(jobs=Count("pk")).order_by("queue")
    found = {known(row["queue"]): int(row["jobs"]) for row in rows}
    if found:
        with database(alias).own_transaction():
            _of_queues(alias, found).filter(state=State.READY).update(state=State.ASIDE)
    return found


def of_schedules(alias: str, queues: Sequence[str]) -> list[str]:
    """The names of these queues under which a schedule left its row."""
    ids = list(named(alias, queues).values())
    rows = Job.objects.using(alias).filter(pk__in=ids, value=NOTHING) if ids else Job.objects.none()
    return sorted(known(name) for name in rows.values_list("queue", flat=True))


def bring_back(alias: str, queues: Collection[str]) -> bool:
    """Makes ready what is a queue's own again; whether there was any.

    Those of a group come back with the others that are set aside; of those without one these alone are.
    """
    rows = Job.objects.using(alias).filter(queue__in=queues, state=State.ASIDE, group__isnull=True)
    own = rows.exclude(value=NOTHING)
    if not own.exists():
        return False
    with database(alias).own_transaction():
        return own.update(state=State.READY) > 0


def _of_queues(alias: str, schedules: Collection[str]) -> QuerySet[Job]:
    rows = Job.objects.using(alias).filter(queue__in=schedules, state__in=NOT_STARTED)
    return rows.exclude(value=NOTHING)
