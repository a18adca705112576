"""How jobs ended, for whoever watches them: a cancel leaves a word of itself, as its row is gone like a done job's."""

from __future__ import annotations

from typing import Any

from ..databases import database
from ..models import Cancel, Job

# How long it can be told how a job ended, in microseconds: to a watch whose database was away, or that looks late.
REMEMBERED = 600_000_000


def remember_cancel(row: Job) -> None:
    """Notes, in the transaction that takes a job away, that it was not done."""
    alias = row._state.db
    assert alias is not None  # as every row that was read has
    now: Any = database(alias).now_expression()
    Cancel.objects.using(alias).bulk_create([Cancel(job=row.pk, until=now + REMEMBERED)], ignore_conflicts=True)


def forget_cancels(alias: str, most: int) -> int:
    """Deletes up to so many cancels that need not be remembered any more; how many there were."""
    cancels = Cancel.objects.using(alias)
    past = cancels.filter(until__lte=database(alias).now_expression()).order_by("until")
    with database(alias).transaction():
        some = list(past.select_for_update(skip_locked=True).values_list("pk", flat=True)[:most])
        return cancels.filter(pk__in=some).delete()[0] if some else 0
