"""Counts of what runs that build on the one before, on PostgreSQL. Why it is as it is: docs/architecture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .rows import EVER, MARGIN, Count

# The jobs that run: of those that started before a time the known ones, by their primary keys, so that the dead
# entries before it are left alone. OFFSET 0, or the planner would look for them in that very index.
RUNS = """
  select found.id, found.started_at, found."group"
  from {known} cross join lateral (
    select id, state, started_at, "group" from tinystore_django_job job where job.id = known.id offset 0) found
  where found.state = 1 and found.started_at < {since}
  union all
  select id, started_at, "group" from tinystore_django_job job
  where job.queue = {queue} and job.state = 1 and job.started_at >= {since}
"""

# Those of them that the next count may know.
OLD = f"coalesce(array_agg(id) filter (where {{tells}} and started_at < {{now}} - {MARGIN}), '{{{{}}}}')"

# Arrays, of which the planner expects few elements: of JSON it expects a hundred, and would plan each claim anew.
OF_QUEUE = """(
    select id from unnest(%(known_queues)s::text[], %(known)s::bigint[]) known(queue, id)
    where known.queue = wanted.queue) known"""

# What runs in each queue that has a total. The time is read here, behind the wait for the lock, so that whatever is
# started after a count has a later one. Where it is earlier than at the last count, everything is counted.
WITH_TOTALS = f"""
    instant(now) as materialized (select {{instant}}),
    wanted as materialized (
      select * from unnest(%(queues)s::text[], %(ats)s::bigint[], %(after)s::bigint[], %(free)s::int[],
        %(totals)s::int[], %(since)s::bigint[], %(tells)s::bool[]) wanted(queue, at, id, free, total, since, tells)),
    counted as materialized (
      select wanted.queue, running.count, running.old
      from wanted cross join lateral (
        select instant.now, case when {{now}} - {MARGIN} >= wanted.since and instant.now >= {{now}}
          then wanted.since else {EVER} end as since from instant) begins
      cross join lateral (
        select count(*), {OLD.format(tells="wanted.tells", now="begins.now")} as old
        from ({RUNS.format(known=OF_QUEUE, queue="wanted.queue", since="begins.since")}) job) running
      where wanted.total is not null and wanted.free > 0),
"""

KNOWN = "(select value::bigint as id from json_array_elements_text(%(known)s::json)) known"

BY_GROUP = f"""
    select "group", count(*), {OLD.format(tells="%(tells)s", now="%(until)s::bigint")}
    from (select case when %(until)s::bigint - {MARGIN} >= %(since)s::bigint then %(since)s::bigint
      else {EVER} end as since) begins
    cross join lateral ({RUNS.format(known=KNOWN, queue="%(queue)s", since="begins.since")}) job
    group by "group"
"""


def as_counts(queues: Iterable[str], counts: Mapping[str, Count]) -> dict[str, Any]:
    """How to count, as the parameters of `WITH_TOTALS`."""
    queues = list(queues)
    known = [(queue, job) for queue, count in counts.items() for job in count.ids]
    return {
        "since": [counts.get(queue, Count()).since for queue in queues],
        "tells": [queue in counts for queue in queues],
        "known_queues": [queue for queue, _ in known],
        "known": [job for _, job in known],
    }
