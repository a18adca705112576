"""ahead: how many due jobs start before a waiting one."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from ..databases import database
from ..databases.places import places as places_in
from ..databases.rows import Line
from ..models import Job
from ..timing import clock
from .locking import State, known

MOST = 10_000

Mark = tuple[int, int]  # a job's place among all: its time and primary key


@dataclass(frozen=True, slots=True)
class HeldUp:
    """The groups of a queue that are full, and the jobs at the head of each that are not set aside yet, in order."""

    groups: frozenset[str | None] = frozenset()
    jobs: Sequence[tuple[Mark, str | None]] = ()

    def before(self, mark: Mark) -> int:
        """How many of them stand before a job, and do not start before it."""
        return bisect_left(self.jobs, mark, key=lambda job: job[0])

    def of_group(self, group: str | None, mark: Mark) -> int:
        """How many of one group stand before a job."""
        return sum(other == group and at < mark for at, other in self.jobs)


def ahead(alias: str, queue: str, waiting: Iterable[Job], most: int | None = None) -> dict[int, int]:
    """How many due jobs start before each of these of one queue, counted up to 10,000, by primary key. A job whose
    group is full, with `most` of its jobs running, comes behind all that can start, and behind its group's. One that
    has meanwhile left its line is not there."""
    held_up = HeldUp() if most is None else _held_up(alias, queue, most)
    places: dict[int, int] = {}
    for group, rows in _lines(waiting, held_up).items():
        marks = [_mark(row) for row in rows]
        if group is None:
            found = places_in(alias, Line(queue, None), marks, MOST)
            places |= {job: found[job] - held_up.before((at, job)) for at, job in marks if job in found}
        else:
            can_start = _ready(alias, queue) - len(held_up.jobs)
            aside = [_mark(row) for row in rows if row.state == State.ASIDE]
            found = dict.fromkeys((job for _, job in marks), 0)
            found |= places_in(alias, Line(queue, group), aside, MOST) if aside else {}
            places |= {job: can_start + held_up.of_group(group, (at, job)) + found[job] for at, job in marks}
    return {job: max(0, min(MOST, place)) for job, place in places.items()}


def _lines(waiting: Iterable[Job], held_up: HeldUp) -> dict[str | None, list[Job]]:
    """Those that can start, under None, and those of each full group."""
    lines: defaultdict[str | None, list[Job]] = defaultdict(list)
    for row in waiting:
        full = row.state == State.ASIDE or row.group in held_up.groups
        lines[row.group if full else None].append(row)
    return lines


def _held_up(alias: str, queue: str, most: int) -> HeldUp:
    rows = Job.objects.using(alias).filter(queue=queue)
    running = rows.filter(state=State.RUNNING, group__isnull=False).values("group").annotate(running=Count("pk"))
    full = frozenset(one["group"] for one in running if one["running"] >= most)
    if not full:
        return HeldUp()
    heads = _due(alias, rows).filter(group__in=full).order_by("at", "id")[:MOST]
    return HeldUp(full, [(_mark(row), row.group) for row in heads.only("at", "group")])


def _ready(alias: str, queue: str) -> int:
    # In order, so that the index is walked, and no further than that many.
    due = _due(alias, Job.objects.using(alias).filter(queue=queue))
    return due.order_by("at", "id").values("id")[:MOST].count()


def _due(alias: str, rows: QuerySet[Job]) -> QuerySet[Job]:
    return rows.filter(state=State.READY, at__lte=database(alias).now_expression())


def _mark(row: Job) -> Mark:
    return clock.from_datetime(known(row.at)), row.pk
