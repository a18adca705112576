"""The sums of what a queue's workers did in a minute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from . import database
from .rows import Sum

MOST = 2**62  # beyond which nothing is added: a sum that its column cannot hold would fail for every queue

# The ORM's bulk_create can replace what is there, and not add to it. In order: two workers must not wait for each
# other. SQLite needs a `where` to tell the conflict's ON from a join's.
ADD_UP = f"""
    insert into tinystore_django_minute as kept (queue, minute, started, failed, longest_wait)
    select queue, {{now}} - {{now}} %% 60000000, started, failed, longest_wait from {{sums}} where true order by queue
    on conflict (queue, minute) do update
    set started = case when kept.started < {MOST} then kept.started + excluded.started else kept.started end,
      failed = case when kept.failed < {MOST} then kept.failed + excluded.failed else kept.failed end,
      longest_wait = case when excluded.longest_wait > kept.longest_wait then excluded.longest_wait
        else kept.longest_wait end
"""


def add_up(alias: str, sums: Sequence[Sum]) -> None:
    """Adds a worker's sums to the rows of the present minute."""
    store = database(alias)
    store.run(ADD_UP.replace("{sums}", store.SUMS), {"sums": json.dumps([asdict(one) for one in sums])})
