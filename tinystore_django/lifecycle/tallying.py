"""What the workers of a queue did, minute by minute: one small row, to which each adds its own sums now and then."""

from __future__ import annotations

from collections.abc import Sequence

from ..databases import database
from ..databases import sums as sums_of
from ..databases.rows import Sum
from ..models import Minute
from ..timing import clock
from ..timing.durations import UNITS
from . import flaws
from .locking import known

MINUTES = 60  # that a chart shows


def add_up(alias: str, sums: Sequence[Sum]) -> None:
    """Adds a worker's sums to those of the present minute, in one statement."""
    with database(alias).own_transaction():
        sums_of.add_up(alias, sums)


def last_hour(alias: str, queues: Sequence[str]) -> dict[str, list[Sum]]:
    """What each queue's workers did in each of the last sixty minutes, the present one last."""
    present = database(alias).now() // UNITS["m"]
    rows = Minute.objects.using(alias).filter(queue__in=queues, minute__gt=(present - MINUTES) * UNITS["m"])
    hours = {queue: [Sum(queue) for _ in range(MINUTES)] for queue in queues}
    for row, found in flaws.each(rows, _sum, lambda row: f"the sums pk={row.pk}"):
        place = MINUTES - 1 - (present - clock.from_datetime(known(row.minute)) // UNITS["m"])
        if place < MINUTES:  # a test's clock may have been moved back
            hours[found.queue][place] = found
    return hours


def _sum(row: Minute) -> Sum:
    return Sum(known(row.queue), *(max(0, one) for one in (row.started, row.failed, row.longest_wait)))
