"""A worker's lease: taken at its start, renewed while it lives, and what is done about one that ran out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable

from ..databases import database
from ..databases.rows import Fence, Held, Renewal
from ..models import Job, Lease
from ..options import QueueOptions
from ..timing import clock
from . import asides
from .aftermath import LOST, Ending
from .locking import State, known
from .refused import settle_all
from .settling import Finished

# How many lost jobs one transaction takes back.
BATCH = 100
# The lease of running jobs without one, while they are taken back: no worker's.
NOBODY = -1


def take(alias: str, name: str, queues: Iterable[str], span: int, *, version: str = "", woken: str = "") -> int:
    """Opens a lease that lasts `span` microseconds unless renewed; its primary key.

    The name is host:pid; the version and how the worker is woken, in words, are for an operator to read.
    """
    now = database(alias).now()
    about = {"name": name, "queues": " ".join(queues), "version": version, "woken": woken}
    times = {"started_at": now, "renewed_at": now, "expires_at": now + span}
    return Lease.objects.using(alias).create(**about, **times).pk


def renew(alias: str, lease: int, span: int) -> Renewal | None:
    """Makes the lease last `span` from now; None if it ran out and was taken away."""
    return database(alias).renew(lease, span)


def give_up(alias: str, lease: int) -> None:
    """Ends a lease whose worker holds nothing any more."""
    Lease.objects.using(alias).filter(pk=lease).delete()


def sweep(alias: str, options_of: Callable[[str], QueueOptions | None]) -> dict[Held, str]:
    """Takes back the jobs of workers whose leases ran out; each with its outcome, "lost" or "failed".

    A job is lost when its lease's row is gone, whoever removed it. What is read here may be old by the time it is
    settled: the settle's fence leaves alone what another worker has meanwhile taken back or claimed.
    """
    store = database(alias)
    Lease.objects.using(alias).filter(expires_at__lt=store.now_expression()).delete()
    lost = _lost(alias)
    ends = [Finished(held, Ending("lost", LOST), options_of(held.queue), True, True) for held in lost]
    outcomes = settle_all(alias, ends).outcomes
    asides.ended(alias, lost)
    return {held: outcomes[held.fence] for held in lost if held.fence in outcomes}


def unknown(alias: str, lease: int, known: Container[Fence]) -> list[Held]:
    """Running jobs under our lease that we do not know: of a claim whose commit a dead connection left unanswered."""
    rows = Job.objects.using(alias).filter(state=State.RUNNING, lease=lease)
    return [held for row in rows if (held := _held(row, lease)).fence not in known]


def cancelled(alias: str, runs: Collection[Fence]) -> set[Fence]:
    """Those of some runs whose jobs were cancelled."""
    # By their primary keys, and no word of the state: its index may be full of the entries of jobs that have run.
    rows = Job.objects.using(alias).filter(pk__in=[job for job, _, _ in runs], cancelled=True)
    found = set(rows.values_list("pk", "run", "lease"))
    return {run for run in runs if run in found}


def _lost(alias: str) -> list[Held]:
    leases = Lease.objects.using(alias).values("pk")
    rows = Job.objects.using(alias).filter(state=State.RUNNING).exclude(lease__in=leases)
    lost = list(rows.order_by("at", "id")[:BATCH])
    # Somebody has freed them by hand, as he thought: what no lease names, no settle would find.
    if unleased := [row.pk for row in lost if row.lease is None]:
        Job.objects.using(alias).filter(pk__in=unleased, lease=None).update(lease=NOBODY)
    return [_held(row, NOBODY if row.lease is None else row.lease) for row in lost]


def _held(row: Job, lease: int) -> Held:
    return Held(
        id=row.pk,
        run=row.run,
        lease=lease,
        queue=known(row.queue),
        key=row.key,
        value=row.value,
        at=clock.from_datetime(known(row.due)),
        attempt=row.attempt,
        group=row.group,
        repeat=row.repeat,
        started_at=clock.from_datetime(row.started_at or known(row.at)),
    )
