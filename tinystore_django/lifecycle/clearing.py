"""Rows past their keep go in small batches, by the workers, never by somebody's cron job."""

from __future__ import annotations

from ..databases import database
from .remembering import REMEMBERED, forget_cancels

BATCH = 500


def clear(alias: str) -> int:
    """Deletes one batch of rows past their keep, and of remembered cancels; how many of the more numerous."""
    return max(database(alias).clear(BATCH, REMEMBERED), forget_cancels(alias, BATCH))
