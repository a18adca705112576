"""The answers of a job's finished steps, and a run's progress: written only while the run is still the job's own."""

from __future__ import annotations

from django.db.models import QuerySet

from ..databases import database
from ..databases.rows import Fence
from ..errors import ConflictError
from ..models import Job, Step
from .locking import State, known


def kept(alias: str, job: int) -> dict[str, str]:
    """All kept answers of a job, as JSON, by the names of their steps."""
    rows = Step.objects.using(alias).filter(job=job)
    return {known(row.name): row.answer for row in rows}


def keep(alias: str, fence: Fence, name: str, answer: str) -> None:
    """Keeps a step's answer.

    Raises:
        ConflictError: the run is no longer the job's own.
    """
    with database(alias).transaction():
        # Locked, so that nobody takes the job back between this look and the commit. Its key stays free for the
        # changes that a caller may make meanwhile.
        ours = _run(alias, fence).select_for_update(no_key=True).values("pk").first()
        if ours is None:
            raise ConflictError("the run is no longer its job's own: its step was not kept")
        Step.objects.using(alias).create(job=fence[0], name=name, answer=answer)


def report(alias: str, fence: Fence, progress: str) -> bool:
    """Writes how far a run is, if it is still the job's own. False where somebody's open transaction holds its row:
    to wait for that would keep the worker from renewing its lease."""
    run = _run(alias, fence)
    with database(alias).transaction():
        if run.select_for_update(no_key=True, skip_locked=True).values("pk").first() is not None:
            run.update(progress=progress)
            return True
    return not run.exists()


def _run(alias: str, fence: Fence) -> QuerySet[Job]:
    job, run, lease = fence
    return Job.objects.using(alias).filter(pk=job, run=run, lease=lease, state=State.RUNNING, cancelled=False)
