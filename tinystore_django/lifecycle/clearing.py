"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Model, OuterRef, Subquery
from django.db.models.functions import Coalesce

from ..databases import database
from ..databases.base import MINUTES_KEPT
from ..models import Cancel, Job, Minute, Progress, Queue
from .locking import known

BATCH = 500
# How long it can be told how a job ended, in microseconds: to a watch whose database was away, or that looks late.
REMEMBERED = 600_000_000


def clear(alias: str) -> int:
    """Deletes one batch of each kind of rows past their keep; how many rows there were."""
    clear_progress(alias)
    store = database(alias)
    now = store.now()
    others = [
        _clear(alias, Minute, minute__lte=now - MINUTES_KEPT),
        store.limits.clear(BATCH),
        _clear(alias, Cancel, until__lte=now),
    ]
    return store.clear(BATCH, REMEMBERED) + sum(others)


def clear_progress(alias: str) -> None:
    """Deletes the progress that is of no run any more: a report that crossed the settle of its run."""
    # Looked up for each report: of an Exists PostgreSQL may make a join that scans all jobs.
    current = Job.objects.filter(pk=OuterRef("job"), lease__isnull=False).values("run")
    Progress.objects.using(alias).exclude(run=Coalesce(Subquery(current), -1)).delete()


def remember_cancels(alias: str, jobs: Iterable[Job]) -> None:
    """Notes, in the transaction that takes jobs away, that they were not done. A schedule's cancel is known until it is
    opened again: nothing else would tell it from one that no worker has started with yet."""
    now: Any = database(alias).now_expression()
    rows = list(jobs)
    cancels = [Cancel(job=row.pk, until=now + REMEMBERED) for row in rows]
    Cancel.objects.using(alias).bulk_create(cancels, ignore_conflicts=True)
    # A schedule's job bears its name.
    if names := sorted({known(row.queue) for row in rows if row.key == row.queue}):
        queues = [Queue(name=name, cancelled_at=now) for name in names]
        Queue.objects.using(alias).bulk_create(
            queues, update_conflicts=True, unique_fields=["name"], update_fields=["cancelled_at"]
        )


def _clear(alias: str, model: type[Model], **past: int) -> int:
    rows = model._default_manager.using(alias)
    with database(alias).own_transaction():
        # Two workers that clear at the same time leave each other's rows alone.
        found = list(rows.select_for_update(skip_locked=True).filter(**past).values_list("pk", flat=True)[:BATCH])
        return rows.filter(pk__in=found).delete()[0] if found else 0
