"""What an operator sees of queues and workers at a glance, at a cost that does not grow with the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..databases import database
from ..databases import figures as databases_figures
from ..models import Job, Lease
from ..timing import clock
from .locking import State, known

MOST = 10_000


@dataclass(frozen=True, slots=True)
class Figures:
    """How many jobs a queue has in each state, counted to one above 10,000, and since when its oldest due one waits."""

    waiting: int = 0
    scheduled: int = 0
    running: int = 0
    failed: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Working:
    """A worker process by its lease, and how many jobs it runs."""

    host: str
    pid: str
    version: str
    queues: tuple[str, ...]
    woken: str
    running: int
    started_at: datetime
    renewed_at: datetime
    expires_at: datetime


def figures(alias: str, queues: Sequence[str]) -> dict[str, Figures]:
    """The figures of each queue."""
    rows = databases_figures.figures(alias, queues, MOST + 1) if queues else []
    return {name: _figures(*columns) for name, *columns in rows}


def working(alias: str) -> list[Working]:
    """The workers by host and process, those whose lease has run out and that nobody has taken away yet, too."""
    rows = Job.objects.using(alias).filter(state=State.RUNNING).order_by("queue", "started_at")
    running = Counter(rows.values_list("lease", flat=True)[: MOST + 1])
    found = [_working(lease, running[lease.pk]) for lease in Lease.objects.using(alias).order_by("name", "pk")]
    return sorted(found, key=lambda one: (one.host, len(one.pid), one.pid))


def alive(alias: str) -> Counter[str]:
    """How many live workers run each queue."""
    rows = Lease.objects.using(alias).filter(expires_at__gt=database(alias).now_expression())
    return Counter(name for queues in rows.values_list("queues", flat=True) for name in queues.split())


def _figures(
    waiting: int, scheduled: int, running: int, failed: int, at: int | None, due: int, later: int, aside_at: int | None
) -> Figures:
    oldest = min((one for one in (at, aside_at) if one is not None), default=None)
    return Figures(
        waiting=min(waiting + due, MOST + 1),
        scheduled=min(scheduled + later, MOST + 1),
        running=running,
        failed=min(failed, MOST + 1),
        oldest=None if oldest is None else clock.to_datetime(oldest),
    )


def _working(lease: Lease, running: int) -> Working:
    host, _, pid = lease.name.rpartition(":")
    started_at = known(lease.started_at)
    return Working(
        host=host,
        pid=pid,
        version=lease.version,
        queues=tuple(sorted(lease.queues.split())),
        woken=lease.woken,
        running=running,
        started_at=started_at,
        renewed_at=lease.renewed_at or started_at,
        expires_at=known(lease.expires_at),
    )
