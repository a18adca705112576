"""How many jobs a queue has in each state, counted up to a limit by the index of that state."""

from __future__ import annotations

from collections.abc import Sequence

from . import database
from .known import KNOWN
from .statements import Rows

# The rows of one state of a queue in the order of its index, so that it is walked, and no further than the limit.
WALKS = {
    "waiting": "select 1 as one from tinystore_django_job where queue = known.queue and state = 0 and at <= {now}"
    " order by at, id",
    "scheduled": "select 1 as one from tinystore_django_job where queue = known.queue and state = 0 and at > {now}"
    " order by at, id",
    "running": "select 1 as one from tinystore_django_job where queue = known.queue and state = 1 order by started_at",
    "failed": "select 1 as one from tinystore_django_job where queue = known.queue and state = 2"
    " order by ended_at desc, id desc",
    "aside": 'select at from tinystore_django_job where queue = known.queue and state = 4 order by "group", at, id',
}

# One statement for all queues, of so many looks at an index each: the ORM would ask once a queue and state. Failed jobs
# past their keep, which workers soon clear, are few, and are taken off: whether a job is still kept is not in the index
# of failed jobs, and to look at ten thousand rows takes ten times as long.
FIGURES = """
    with past as (select queue from tinystore_django_job where kept_until <= {{now}} and state = 2
      order by kept_until limit %(most)s)
    select known.queue,
      (select count(*) from ({waiting} limit %(most)s) walked),
      (select count(*) from ({scheduled} limit %(most)s) walked),
      (select count(*) from ({running} limit %(most)s) walked),
      (select count(*) from ({failed} limit 2 * %(most)s) walked)
        - (select count(*) from past where past.queue = known.queue),
      (select at from tinystore_django_job where queue = known.queue and state = 0 and at <= {{now}}
        order by at, id limit 1),
      (select count(*) from ({aside} limit %(most)s) walked where at <= {{now}}),
      (select count(*) from ({aside} limit %(most)s) walked where at > {{now}}),
      (select min(at) from ({aside} limit %(most)s) walked where at <= {{now}})
    from {{known}}
""".format(**WALKS)


def figures(alias: str, queues: Sequence[str], most: int) -> Rows:
    """Of each queue: its name, how many wait, are scheduled, run and have failed, and the time of the first due job;
    then of the jobs set aside for their groups, how many wait and are scheduled, and the time of the first due one.

    Each is counted up to `most`, and of the jobs set aside only so many are looked at.
    """
    store = database(alias)
    sql = FIGURES.replace("{known}", KNOWN[store.vendor])
    with store.quick_reads():
        return store.run(sql, {"queues": store.array(queues), "most": most})
