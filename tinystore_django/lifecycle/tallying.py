"""What the workers of a queue did, minute by minute: one small row, to which each adds its own sums now and then."""

from __future__ import annotations

from collections.abc import Sequence

from ..databases import database
from ..databases.rows import Sum


def add_up(alias: str, sums: Sequence[Sum]) -> None:
    """Adds a worker's sums to those of the present minute, in one statement."""
    store = database(alias)
    with store.worker_transaction():
        store.add_up(sums)
