"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce

from ..databases import database
from ..models import Job, Progress

BATCH = 500


def clear(alias: str) -> int:
    """Deletes one batch of rows past their keep, and what runs that ended left behind; how many rows there were."""
    clear_progress(alias)
    return database(alias).clear(BATCH)


def clear_progress(alias: str) -> None:
    """Deletes the progress that is of no run any more: a report that crossed the settle of its run."""
    # Looked up for each report: of an Exists PostgreSQL may make a join that scans all jobs.
    current = Job.objects.filter(pk=OuterRef("job"), lease__isnull=False).values("run")
    Progress.objects.using(alias).exclude(run=Coalesce(Subquery(current), -1)).delete()
