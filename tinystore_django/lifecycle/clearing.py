"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from ..databases import database
from ..databases.base import MINUTES_KEPT
from ..models import Minute

BATCH = 500


def clear(alias: str) -> int:
    """Deletes one batch of jobs past their keep, and one of minutes; how many rows there were."""
    return database(alias).clear(BATCH) + _clear_minutes(alias)


def _clear_minutes(alias: str) -> int:
    store = database(alias)
    with store.transaction():
        # Two workers that clear at the same time leave each other's rows alone.
        rows = Minute.objects.using(alias).select_for_update(skip_locked=True)
        past = rows.filter(minute__lte=store.now() - MINUTES_KEPT).order_by("minute")
        return Minute.objects.using(alias).filter(pk__in=list(past.values_list("pk", flat=True)[:BATCH])).delete()[0]
