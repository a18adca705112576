"""Which queues have rows at all, learned without a look at the rows."""

from __future__ import annotations

from . import database

# One for each index that begins with the queue. The next name is one step down an index, however many rows there are
# of the last one: the ORM knows no such walk, and a DISTINCT reads every row.
PARTS = {"ready": "state = 0", "running": "state = 1", "aside": "state = 4", "ended": "(state = 2 or state = 3)"}

WALK = """
    {part}(queue) as (
      select min(queue) from tinystore_django_job where {condition}
      union all
      select (select min(queue) from tinystore_django_job where {condition} and queue > {part}.queue)
      from {part} where queue is not null)
"""

WALKS = ", ".join(WALK.format(part=part, condition=condition) for part, condition in PARTS.items())
NAMES = " union all ".join(f"select '{part}', queue from {part} where queue is not null" for part in PARTS)


def names(alias: str) -> dict[str, list[str]]:
    """The names of the queues that have a job, declared or not, by the part of the states that it is in, in order."""
    parts: dict[str, list[str]] = {part: [] for part in PARTS}
    for part, name in database(alias).run(f"with recursive {WALKS} {NAMES}"):
        parts[part].append(name)
    return {part: sorted(found) for part, found in parts.items()}


def queues(alias: str) -> list[str]:
    """The names of the queues that have a job in whatever state, declared or not, in order."""
    return sorted({name for found in names(alias).values() for name in found})
