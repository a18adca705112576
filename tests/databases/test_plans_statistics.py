"""How PostgreSQL goes about each statement of a worker's day, whatever its statistics say of the table.

They may be of a moment when the table was empty, as it is whenever all jobs are done; or there may be none yet. And a
transaction that stays open may keep the rows of all jobs that have run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from tests.byhand import Hand
from tests.databases.test_dead_entries import CHURN, held_open
from tests.databases.test_plans import Plan, explained, vacuum
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.databases import database
from tinystore_django.databases.base import Database
from tinystore_django.databases.postgresql import PostgreSQL
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.lifecycle.clearing import REMEMBERED
from tinystore_django.lifecycle.floors import Floors
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.options import queue_options

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

MANY = 4_000  # waiting jobs of each of five queues, and as many failed ones
FILL = """
    insert into tinystore_django_job (queue, key, value, "group", state, at, due, ended_at, until, kept_until)
    select 'q' || n %% 5, 'k' || n, '1', case when n %% 5 > 1 then 'g' || n %% 50 end, state, 1e6 + n, n,
      case when state = 2 then n end, case when state = 2 then 4e15 + n end, case when state = 2 then 4e15 + n end
    from generate_series(1, %s) n, (values (0), (2)) states(state)
    where state = 0 or n %% 5 = 4 on conflict do nothing
"""
JOBS = 10  # claimed or settled at once
PER_JOB = 80  # pages of 8 kB
FEW = 150

READY, KEY, RUNNING, PRIMARY = (
    "tinystore_job_ready",
    "tinystore_job_key",
    "tinystore_job_running",
    "tinystore_django_job_pkey",
)
GROUP, ASIDE, KEPT, ENDED = (
    "tinystore_job_ready_group",
    "tinystore_job_aside",
    "tinystore_job_kept_until",
    "tinystore_job_ended",
)


@dataclass(frozen=True)
class Hot:
    """A call, the indexes of jobs that it may go by, and the pages that it may read."""

    call: Callable[[], object]
    indexes: set[str]
    most: int = FEW

    def faults(self, plan: Plan) -> list[str]:
        by = {name for name in plan.indexes if "_job_" in name}
        # Whatever runs is looked at as a whole.
        walked = {name for name in plan.walked if "_job_" in name} - {RUNNING}
        return [
            *(["scans all jobs"] if "tinystore_django_job" in plan.scanned else []),
            *(f"walks all of {name}" for name in walked),
            *(f"goes by {name}" for name in by - self.indexes),
            *([f"reads {plan.pages} pages"] if plan.pages > self.most else []),
        ]


@pytest.fixture(autouse=True)
def one_statement_a_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server explains only one of several."""
    store = database("default")
    monkeypatch.setattr(PostgreSQL, "run_all", Database.run_all)
    monkeypatch.setattr(store.limits, "_run_all", store.run_all)


@pytest.fixture(params=["never gathered", "of an empty table", "of this table", "among dead rows only"])
def statistics(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[str]:
    """A filled table, with statistics of one moment or another."""
    with ExitStack() as stack, connection.cursor() as cursor:
        # What another test's statistics say of the columns outlives its rows.
        cursor.execute("delete from pg_statistic where starelid = 'tinystore_django_job'::regclass")
        if request.param == "among dead rows only":
            stack.enter_context(held_open())
            for statement in CHURN:
                cursor.execute(statement.replace("'emails'", "'q0'"), [15_000])
            cursor.execute("vacuum analyze tinystore_django_job")
        elif request.param == "of an empty table":
            cursor.execute("vacuum analyze tinystore_django_job")
        cursor.execute(FILL, [5 * MANY])
        if request.param == "of this table":
            vacuum()
        yield request.param


def calls(shop: Store) -> Iterator[tuple[str, Hot]]:
    """Each hot call, by a name."""
    store, hand, floors = database("default"), Hand(), Floors(lambda: 0.0)
    plain, total, group, rate, failed = (
        shop.queue("q0", int),
        shop.queue("q1", int, concurrency=50),
        shop.queue("q2", int, concurrency=Concurrency(group=2)),
        shop.queue("q3", int, rate="1000/s", group_rate="1000/s"),
        shop.queue("q4", int),
    )
    held = hand.take(plain, JOBS)

    def round_(queue: Queue[Any]) -> object:
        limits = {queue.name: queue._declaration.options} if queue._declaration.options.limited else {}
        done = [Finished(one, Ending("done"), queue_options()) for one in held if queue is plain]
        return turn("default", hand.lease, done, Asked({queue.name: JOBS}, limits, floors=floors))

    round_(plain)  # the next one begins behind what is dead
    again = hand.take(plain, JOBS)
    held = again
    for queue in (total, group, rate):
        hand.take(queue)
    fences = [one.fence for one in held]
    ending = {kind: [Finished(one, Ending(kind, "no luck"), queue_options()) for one in held] for kind in KINDS}

    limited = {READY, RUNNING, PRIMARY, ASIDE, GROUP}

    yield "a round", Hot(lambda: round_(plain), {READY, PRIMARY}, PER_JOB * JOBS)
    yield "a round under a total", Hot(lambda: round_(total), limited, PER_JOB * JOBS)
    yield "a round under a group's limit", Hot(lambda: round_(group), limited, PER_JOB * JOBS)
    yield "a round under rates", Hot(lambda: round_(rate), limited, PER_JOB * JOBS)
    for kind, finished in ending.items():
        yield f"a settle: {kind}", Hot(lambda some=finished: settle("default", some), {PRIMARY}, PER_JOB * JOBS)
    yield "the removal of the cancelled", Hot(lambda: store.remove_cancelled(fences), {PRIMARY}, PER_JOB * JOBS)
    yield "add", Hot(lambda: plain.add(1), set())
    yield "add by id", Hot(lambda: plain.add(1, id="k0"), {KEY})
    yield "add to a group", Hot(lambda: group.add(1, group="g2"), {ASIDE, GROUP})
    yield "get", Hot(lambda: plain.get("k20"), {KEY, READY}, 4 * FEW)
    yield "list", Hot(lambda: plain.list(prefix="k2", limit=10), {KEY})
    yield "list of the failed", Hot(lambda: failed.list(state="failed", limit=10), {ENDED})
    yield "a renewal", Hot(lambda: store.renew(hand.lease, 1), {RUNNING, KEPT, PRIMARY}, 2 * FEW)
    yield "a look for the cancelled", Hot(lambda: leasing.cancelled("default", fences), {PRIMARY})
    yield "a sweep", Hot(lambda: leasing.sweep("default", lambda queue: None), {RUNNING}, 2 * FEW)
    yield "clearing", Hot(lambda: store.clear(500, REMEMBERED), {KEPT, PRIMARY})


KINDS: Any = ("done", "retry", "failed")


def test_every_hot_statement_goes_by_its_indexes(statistics: str, shop: Store) -> None:
    faults = [
        (name, fault, " ".join(plan.sql.split())[:60])
        for name, hot in calls(shop)
        for plan in explained(hot.call)
        for fault in hot.faults(plan)
    ]

    assert faults == [], "\n".join(map(str, faults))
