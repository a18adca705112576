"""By which indexes SQLite goes about each statement of a worker's day, whatever its statistics say of the table.

SQLite has none until somebody says `analyze`, and then those of that moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from tests.byhand import Hand
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.databases import database, repeating
from tinystore_django.databases.figures import figures
from tinystore_django.databases.lanes import LANES, Narrowed, count, part
from tinystore_django.databases.names import queues
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.aftermath import Ending, Kind
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.lifecycle.clearing import REMEMBERED
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.options import queue_options

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]

# Waiting jobs of each of five queues, and failed ones of the last.
FILL = """
    insert into tinystore_django_job (queue, key, value, "group", state, at, due, ended_at, until, kept_until)
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 5000)
    select 'q' || (n % 5), 'k' || n, '1', case when n % 5 > 1 then 'g' || (n % 50) end, state, 1e6 + n, n,
      case when state = 2 then n end, case when state = 2 then 4e15 + n end, case when state = 2 then 4e15 + n end
    from numbers, (select 0 as state union all select 2)
    where state = 0 or n % 5 = 4 on conflict do nothing
"""
JOBS = 10  # claimed or settled at once

READY, KEY, RUNNING, PRIMARY = "tinystore_job_ready", "tinystore_job_key", "tinystore_job_running", "PRIMARY KEY"
GROUP, ASIDE, KEPT, ENDED = (
    "tinystore_job_ready_group",
    "tinystore_job_aside",
    "tinystore_job_kept_until",
    "tinystore_job_ended",
)
DONE_KEY, ENDED_GROUP = "tinystore_job_done_key", "tinystore_job_ended_group"
# Not KEY, which an add names: without it there would be none.
INDEXES = (READY, RUNNING, GROUP, ASIDE, KEPT, ENDED, DONE_KEY, ENDED_GROUP)

# A line such as: SEARCH job USING COVERING INDEX tinystore_job_ready (queue=? AND at<?)
STEP = re.compile(r"(?P<how>SCAN|SEARCH) (?P<table>\w+)(?: USING .*?(?P<index>PRIMARY KEY|tinystore_\w+))?")


class Plan:
    """How SQLite would go about one statement."""

    def __init__(self, sql: str, lines: list[str]) -> None:
        self.sql = " ".join(sql.split())
        steps = [found for line in lines if (found := STEP.match(line))]
        # What is of our tables has a name of theirs or of an index; the rest are a statement's own.
        jobs = [step for step in steps if step["table"] in self._names_of_jobs()]
        self.indexes = {step["index"] for step in jobs if step["index"]}
        self.scanned = [step[0] for step in jobs if step["how"] == "SCAN" and step["index"] != RUNNING]

    def _names_of_jobs(self) -> set[str]:
        """The table's name, and those that the statement gives it."""
        words = {"where", "order", "set", "on", "left", "cross", "group"}
        return {"tinystore_django_job", *re.findall(r"tinystore_django_job\"? (\w+)", self.sql)} - words


def explained(call: Callable[[], object]) -> list[Plan]:
    """The plan of each statement of a call on our tables; what the call did is taken back."""
    plans: list[Plan] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "tinystore_django_job" in sql:
            execute(f"explain query plan {sql}", params, many, context)
            plans.append(Plan(sql, [row[-1] for row in context["cursor"].fetchall()]))
        return execute(sql, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(explain):
            call()
        transaction.set_rollback(True)
    return plans


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture(params=["never gathered", "of an empty table", "of this table"])
def statistics(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[str]:
    """A filled table, with statistics of one moment or another."""
    if request.param == "of an empty table":
        run("analyze")
    run(FILL)
    if request.param == "of this table":
        run("analyze")
    connection.close()  # a session reads them at its beginning
    yield request.param
    run(*(f"drop table {name}" for name in connection.introspection.table_names() if name.startswith("sqlite_stat")))
    connection.close()


def calls(shop: Store) -> Iterator[tuple[str, Callable[[], object], set[str]]]:
    """Each hot call, by a name, and the indexes of jobs that it goes by."""
    store, hand = database("default"), Hand()
    plain, total, group, rate, failed, full = (
        shop.queue("q0", int),
        shop.queue("q1", int, concurrency=50),
        shop.queue("q2", int, concurrency=Concurrency(group=2)),
        shop.queue("q3", int, rate="1000/s", group_rate="1000/s"),
        shop.queue("q4", int),
        shop.queue("q5", int, max_waiting=10),
    )
    held = hand.take(plain, JOBS)
    for queue in (total, group, rate):
        hand.take(queue, 2 * JOBS)
    fences = [one.fence for one in held]

    def round_(queue: Queue[Any]) -> object:
        limits = {queue.name: queue._declaration.options} if queue._declaration.options.limited else {}
        done = [Finished(one, Ending("done"), queue_options()) for one in held if queue is plain]
        return turn("default", hand.lease, done, Asked({queue.name: JOBS}, limits))

    def settled(kind: Kind) -> object:
        return settle("default", [Finished(one, Ending(kind, "no luck"), queue_options()) for one in held])

    yield "a round", lambda: round_(plain), {READY, PRIMARY}
    yield "a round under a total", lambda: round_(total), {READY, RUNNING, PRIMARY, ASIDE}
    yield "a round under a group's limit", lambda: round_(group), {READY, RUNNING, PRIMARY, ASIDE, GROUP}
    yield "a round under rates", lambda: round_(rate), {READY, PRIMARY, ASIDE}
    yield "the removal", lambda: store.remove(fences), {PRIMARY}
    yield "the removal of the cancelled", lambda: store.remove_cancelled(fences), {PRIMARY}
    for kind in KINDS:
        yield f"a settle: {kind}", lambda kind=kind: settled(kind), {PRIMARY}
    yield "add", lambda: plain.add(1), set()
    yield "add by id", lambda: plain.add(1, id="k5"), {KEY}
    yield "add to a group", lambda: group.add(1, group="g2"), {ASIDE, GROUP}
    yield "add where few may wait", lambda: full.add(1), {READY, ASIDE}
    yield "get", lambda: plain.get("k2000"), {KEY, READY}
    yield "get behind a full group", lambda: group.get("k2007"), {KEY, READY, RUNNING}
    yield "list", lambda: plain.list(prefix="k2", limit=10), {KEY}
    yield "list of the failed", lambda: failed.list(state="failed", limit=10), {ENDED}
    yield "what the admin counts", lambda: figures("default", ["q0", "q4"], 10), {READY, RUNNING, ASIDE, ENDED, KEPT}
    for what, narrowed, by in LISTS:
        yield f"the admin's list{what}", partial(listed, narrowed), by
    yield "the schedules", lambda: repeating.named("default", ["q0", "q4"]), {KEY}
    yield "the schedules that are open", lambda: repeating.opened("default", [("q0", "@daily")]), {KEY}
    yield "jobs by their ids", lambda: repeating.by_id("default", [("q0", "k5")]), {KEY}
    yield "the queues' names", lambda: queues("default"), {READY, RUNNING, ASIDE, ENDED}
    yield "a renewal", lambda: store.renew(hand.lease, 1), {RUNNING, KEPT, PRIMARY}
    yield "a look for the cancelled", lambda: leasing.cancelled("default", fences), {PRIMARY}
    yield "a sweep", lambda: leasing.sweep("default", lambda queue: None), {RUNNING}
    yield "clearing", lambda: store.clear(500, REMEMBERED), {KEPT, PRIMARY}


def listed(narrowed: Narrowed) -> None:
    for lane in LANES:
        count("default", lane, narrowed, ["q0", "q4"], 10)
        part("default", lane, narrowed, ["q0", "q4"], 0, 10)


LISTS = (
    ("", Narrowed(), {READY, RUNNING, ASIDE, ENDED}),
    (" of a group", Narrowed(group="g2"), {GROUP, RUNNING, ASIDE, ENDED_GROUP}),
    (" by id", Narrowed(first="k", end="l"), {KEY, RUNNING, DONE_KEY}),
)
KINDS: Any = ("done", "retry", "failed")


def faults(shop: Store) -> list[str]:
    found = []
    for name, call, indexes in calls(shop):
        plans = explained(call)
        by = {index for plan in plans for index in plan.indexes}
        found += [f"{name}: {scan}: {plan.sql[:80]}" for plan in plans for scan in plan.scanned]
        found += [] if by == indexes else [f"{name}: goes by {sorted(by)} instead of {sorted(indexes)}"]
    return found


def test_every_hot_statement_goes_by_its_indexes_on_sqlite(statistics: str, shop: Store) -> None:
    found = faults(shop)

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("statistics", ["of this table"], indirect=True)
@pytest.mark.parametrize("index", INDEXES)
def test_a_statement_without_its_index_is_found_out(statistics: str, index: str, shop: Store) -> None:
    with transaction.atomic():
        run(f"drop index {index}")
        found = faults(shop)
        transaction.set_rollback(True)

    assert found
