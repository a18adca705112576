"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from ..databases import database

BATCH = 500


def clear(alias: str) -> int:
    """Deletes one batch of rows past their keep, and one of group's logs that count no more; how many of the more
    numerous there were."""
    store = database(alias)
    return max(store.clear(BATCH), store.limits.clear(BATCH))
