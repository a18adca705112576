"""The rows of schedules, looked for by their names: one look at the index of ids for each, in one statement."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from ..timing.clock import EARLIEST, LATEST
from . import database
from .known import KNOWN, KNOWN_TEXTS
from .statements import Rows

# A schedule's row has its name for queue and id. As a subquery: of a join PostgreSQL may make a scan of all jobs.
NAMED = """
    select queue, id from (
      select known.queue, (
        select id from tinystore_django_job where queue = known.queue and key = known.queue and {taken}
          and repeat is not null and (until is null or until > {now})) as id
      from {known}) found
    where id is not null
"""
# What a schedule's row has as its value, which no handler sees: no queue writes a value that begins with a space.
NOTHING = " null"
# One that is damaged, of no state or of a time outside the calendar, would never come, and is opened anew.
OPEN = f"""
    select known.queue from {{known}} where known.text = (
      select repeat from tinystore_django_job where queue = known.queue and key = known.queue and {{taken}}
        and value = '{NOTHING}' and state in (0, 1) and at between {EARLIEST} and {LATEST})
"""
BY_ID = """
    select id from (
      select (select id from tinystore_django_job where queue = known.queue and key = known.text and {taken}) as id
      from {known}) found
    where id is not null
"""

Pair = tuple[str, str]  # a queue, and a text that goes with it


def named(alias: str, queues: Sequence[str]) -> dict[str, int]:
    """The primary keys of the repeating jobs whose id is their queue's name, by that name."""
    store = database(alias)
    rows = store.run(NAMED.replace("{known}", KNOWN[store.vendor]), {"queues": store.array(queues)})
    return dict(rows)


def opened(alias: str, repeats: Collection[Pair]) -> set[str]:
    """The schedules whose row is there, has not ended and says this repeat."""
    return {name for (name,) in _of_pairs(alias, OPEN, repeats)}


def by_id(alias: str, ids: Collection[Pair]) -> list[int]:
    """The primary keys of the jobs of these queues and ids."""
    return [job for (job,) in _of_pairs(alias, BY_ID, ids)]


def _of_pairs(alias: str, sql: str, pairs: Collection[Pair]) -> Rows:
    store = database(alias)
    return store.run(sql.replace("{known}", KNOWN_TEXTS[store.vendor]), {"pairs": json.dumps(list(pairs))})
