"""Jobs that were set aside because their group was full, and what brings them back beside the claims."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ..databases import database
from ..databases.rows import Held
from ..options import QueueOptions
from .asking import Limited
from .limiting import lock, refill

# How many rows one statement makes ready where a limit was taken away.
BLOCK = 10_000


def tend(alias: str, limits: Limited) -> bool:
    """Makes the rows that the workers of these queues lock, and brings back what was left aside in them: by an add that
    committed late, by a worker that died at the wrong moment, or by a limit that a deploy has raised or taken away.
    Whether there was any."""
    limited = [queue for queue, options in limits.items() if options.limited]
    # Looked for first: an insert would take SQLite's only lock each time, to add nothing.
    if missing := database(alias).limits.missing(limited):
        database(alias).limits.open(sorted(missing))
    _, heads = database(alias).limits.heads(sorted(limits))
    left = sorted(queue for queue, head in heads.items() if head.refill_at is not None)
    back = [queue for queue in left if _bring_back_left(alias, queue, limits[queue])]
    return bool(back)


def look(alias: str, limits: Limited) -> bool:
    """Brings back what was left aside in these queues, where nobody has just looked; whether there was any. For queues
    that always have something to start: a claim looks only where it finds too little."""
    now, heads = database(alias).limits.heads(sorted(limits))
    due = [queue for queue, head in heads.items() if head.refill_at is not None and head.refill_at <= now]
    back = [queue for queue in due if _refill(alias, queue, limits[queue])]
    return bool(back)


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
    for queue in sorted(freed):
        # One at a time: a round locks those with only a total first, whatever their names.
        with store.own_transaction():
            if store.limits.lock([queue], lets_go).shared:
                store.limits.bring_back(queue, freed[queue])


def bring_back(alias: str, queue: str, groups: Mapping[str, int]) -> None:
    """Makes so many jobs of each group ready, because jobs that would have done so were moved or taken away."""
    if groups:
        database(alias).limits.bring_back(queue, groups)


def _bring_back_left(alias: str, queue: str, options: QueueOptions) -> bool:
    return _release(alias, queue) if options.heads is None else _refill(alias, queue, options)


def _refill(alias: str, queue: str, options: QueueOptions) -> bool:
    store = database(alias)
    lets_go = not store.in_transaction()
    with store.own_transaction():
        return refill(store, queue, options, lock(store, [queue], lets_go).now)


def _release(alias: str, queue: str) -> bool:
    released = last = database(alias).limits.release(queue, BLOCK)
    while last == BLOCK:
        last = database(alias).limits.release(queue, BLOCK)
    return released > 0
