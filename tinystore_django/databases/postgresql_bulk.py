"""Adding many jobs at once on PostgreSQL. Why it is as it is: docs/architecture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from django.db import IntegrityError, NotSupportedError, transaction

from .base import Database
from .inserting import UNLESS_TAKEN
from .rows import Batch

# Two to five times as fast as an insert, but it knows no ON CONFLICT: for jobs whose ids are all free.
COPY = """copy tinystore_django_job (queue, key, value, "group", state, at, due) from stdin"""

# The limit keeps it a look at the index for each id: a join would be planned by statistics that a bulk outdates.
ANY_TAKEN = """
    select exists (select 1 from json_array_elements_text(%(keys)s::json) given(key)
      cross join lateral (select from tinystore_django_job job
        where job.queue = %(queue)s and job.key = given.key and not job.released limit 1) taken)
"""

# JSON, not arrays: the driver writes an array element by element, which takes longer than the insert itself.
INSERT_MANY = f"""
    with added as (
      insert into tinystore_django_job (queue, key, value, "group", state, at, due)
      select %(queue)s, key, value, "group", state::smallint, %(at)s, %(at)s
      from rows from (json_array_elements_text(%(keys)s::json), json_array_elements_text(%(values)s::json),
        json_array_elements_text(%(groups)s::json), json_array_elements_text(%(states)s::json))
        with ordinality job(key, value, "group", state, place)
      order by place {UNLESS_TAKEN} returning 1)
    select count(*) from added
"""


def insert_many(store: Database, batch: Batch) -> int:
    """Adds many jobs but those whose ids are taken; how many it added."""
    if _are_free(store, batch.queue, [job[0] for job in batch.jobs if job[0] is not None]):
        # Should another add one of them between our look and our copy, the insert leaves it out. What is in conflict
        # but for its id the insert raises again. Under row level security PostgreSQL takes no COPY at all.
        with suppress(IntegrityError, NotSupportedError), transaction.atomic(using=store.alias):
            return _copy(store, batch)
    columns = dict(
        zip(("keys", "values", "groups", "states"), map(json.dumps, zip(*batch.jobs, strict=True)), strict=True)
    )
    return int(store.run(INSERT_MANY, {"queue": batch.queue, "at": batch.at, **columns})[0][0])


def _are_free(store: Database, queue: str, keys: Sequence[str]) -> bool:
    if len(set(keys)) < len(keys):
        return False
    return not keys or not store.run(ANY_TAKEN, {"queue": queue, "keys": json.dumps(keys)})[0][0]


def _copy(store: Database, batch: Batch) -> int:
    with store.connection.cursor() as cursor:
        with store.connection.wrap_database_errors, cursor.copy(COPY) as copy:
            for job in batch.jobs:
                copy.write_row((batch.queue, *job, batch.at, batch.at))
        return int(cursor.rowcount)
