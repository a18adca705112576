"""The answers of a job's finished steps, and a run's progress: written only while the run is still the job's own."""

from __future__ import annotations

from ..databases import database
from ..databases.rows import Fence
from ..errors import ConflictError, RunStopped
from ..models import Job, Step
from .locking import known


def kept(alias: str, job: int) -> dict[str, str]:
    """All kept answers of a job, as JSON, by the names of their steps."""
    rows = Step.objects.using(alias).filter(job=job)
    return {known(row.name): row.answer for row in rows}


def keep(alias: str, fence: Fence, name: str, answer: str) -> None:
    """Keeps a step's answer.

    Raises:
        ConflictError: the run is no longer the job's own.
        RunStopped: the job was cancelled.
    """
    job, run, lease = fence
    # No word of the state: PostgreSQL would walk the index of running jobs, which is full of dead entries under load.
    ours = Job.objects.using(alias).filter(pk=job, run=run, lease=lease)
    with database(alias).own_transaction():
        # Locked, so that nobody takes the job back between this look and the commit. Its key stays free for the
        # changes that a caller may make meanwhile.
        cancelled = ours.select_for_update(no_key=True).values_list("cancelled", flat=True).first()
        if cancelled is None:
            raise ConflictError("the run is no longer its job's own: its step was not kept")
        if cancelled:
            raise RunStopped("the job was cancelled")
        Step.objects.using(alias).create(job=job, name=name, answer=answer)


def report(alias: str, fence: Fence, progress: str) -> None:
    """Writes how far a run is, if it is still the job's own. It waits for nobody who holds the job's row: a lease
    would not be renewed meanwhile."""
    database(alias).report(fence, progress)
