"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from ..databases import database

BATCH = 500


def clear(alias: str) -> int:
    """Deletes one batch of rows past their keep; how many there were."""
    return database(alias).clear(BATCH)
