"""A worker's round: what finished is settled and due jobs are claimed, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..databases import database
from ..databases.rows import Claimed
from .settling import Finished, Settling, settle


def turn(
    alias: str, lease: int, finished: Sequence[Finished], wanted: Mapping[str, int]
) -> tuple[Settling, Claimed | None]:
    """Settles the finished runs, then claims up to `wanted[queue]` due jobs of each queue; none wanted, nothing."""
    if wanted and all(one.plain and not one.may_have_more for one in finished):
        return _plain_turn(alias, lease, finished, wanted)
    with database(alias).worker_transaction():
        return settle(alias, finished), claim(alias, lease, wanted) if wanted else None


def claim(alias: str, lease: int, wanted: Mapping[str, int]) -> Claimed:
    """Marks due jobs as running under a lease. What it took is in the order to start it."""
    return database(alias).claim(lease, wanted)


def _plain_turn(
    alias: str, lease: int, finished: Sequence[Finished], wanted: Mapping[str, int]
) -> tuple[Settling, Claimed]:
    """Most runs are done and leave nothing: their rows go in the statement that claims."""
    claimed = database(alias).claim(lease, wanted, [one.held.fence for one in finished])
    settling = settle(alias, [one for one in finished if one.held.fence not in claimed.removed])
    return Settling({**dict.fromkeys(claimed.removed, "done"), **settling.outcomes}, settling.left), claimed
