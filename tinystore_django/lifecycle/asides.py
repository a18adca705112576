"""Jobs that were set aside because their group was full, and what brings them back beside the claims."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ..databases import database
from ..databases.rows import Held
from ..options import QueueOptions
from .limiting import Limited, lock, refill

# How many rows one statement makes ready where a limit was taken away.
BLOCK = 10_000


def tend(alias: str, limits: Limited) -> None:
    """Makes the rows that the workers of these queues lock, and brings back what was left aside in them: by an add that
    committed late, by a worker that died at the wrong moment, or by a limit that a deploy has raised or taken away."""
    limited = sorted(queue for queue, options in limits.items() if options.limited)
    if limited:
        database(alias).limits.open(limited)
    _, heads = database(alias).limits.heads(sorted(limits))
    for queue in sorted(queue for queue, head in heads.items() if head.refill_at is not None):
        if limits[queue].heads is None:
            _release(alias, queue)
        else:
            _refill(alias, queue, limits[queue])


def ended(alias: str, runs: Iterable[Held]) -> None:
    """Makes free what these runs held in their groups, after they were settled outside a claim."""
    freed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in runs:
        if one.group is not None:
            freed[one.queue][one.group] += 1
    if not freed:
        return
    store = database(alias)
    lets_go = not store.in_transaction()
    with store.worker_transaction():
        for queue in store.limits.lock(sorted(freed), lets_go).shared:
            store.limits.bring_back(queue, freed[queue])


def bring_back(alias: str, queue: str, groups: Mapping[str, int]) -> None:
    """Makes so many jobs of each group ready, because jobs that would have done so were moved or taken away."""
    if groups:
        database(alias).limits.bring_back(queue, groups)


def _refill(alias: str, queue: str, options: QueueOptions) -> None:
    store = database(alias)
    lets_go = not store.in_transaction()
    with store.worker_transaction():
        refill(store, queue, options, lock(store, [queue], lets_go).now)


def _release(alias: str, queue: str) -> None:
    while database(alias).limits.release(queue, BLOCK) == BLOCK:
        pass
