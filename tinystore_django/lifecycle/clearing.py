"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from typing import Any

from ..databases import database
from ..models import Cancel, Job

BATCH = 500
# How long it can be told how a job ended, in microseconds: to a watch whose database was away, or that looks late.
REMEMBERED = 600_000_000


def clear(alias: str) -> int:
    """Deletes one batch of rows past their keep, and of remembered cancels; how many of the more numerous."""
    return max(database(alias).clear(BATCH, REMEMBERED), _forget_cancels(alias))


def remember_cancel(row: Job) -> None:
    """Notes, in the transaction that takes a job away, that it was not done."""
    alias = row._state.db
    assert alias is not None  # as every row that was read has
    now: Any = database(alias).now_expression()
    Cancel.objects.using(alias).bulk_create([Cancel(job=row.pk, until=now + REMEMBERED)], ignore_conflicts=True)


def _forget_cancels(alias: str) -> int:
    cancels = Cancel.objects.using(alias)
    past = cancels.filter(until__lte=database(alias).now_expression()).order_by("until")
    with database(alias).transaction():
        some = list(past.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
        return cancels.filter(pk__in=some).delete()[0] if some else 0
