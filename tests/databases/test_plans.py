"""What PostgreSQL reads for each call in a queue of a hundred thousand jobs: few pages, by the index meant for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction

from tests.byhand import Hand
from tests.programs import wait_for
from tinystore_django import Queue, Store
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.lifecycle.sighting import first, look
from tinystore_django.options import queue_options

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

MANY = 100_000
MOST = 150  # pages of 8 kB, read for one call
FILL = """
    insert into tinystore_django_job (queue, key, value, at, due)
    select 'many', 'chat:' || n, '"hello"', n / 2, n / 2 from generate_series(1, %s) n order by md5(n::text)
"""


class Plan:
    """What became of one statement: its text, its pages, the rows it read and the indexes it went by."""

    def __init__(self, sql: str, plan: dict[str, Any]) -> None:
        self.sql = sql
        self.pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        nodes = [node for node in walk(plan) if node["Actual Loops"]]  # not what is planned and never needed
        self.rows = round(sum(node["Actual Rows"] * node["Actual Loops"] for node in nodes if "Relation Name" in node))
        self.indexes = {node["Index Name"] for node in nodes if "Index Name" in node}
        # Those that are read from one end to the other, rather than at a place.
        self.walked = {node["Index Name"] for node in nodes if "Index Name" in node and "Index Cond" not in node}
        self.scanned = {
            node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan" and "Relation Name" in node
        }


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from walk(child)


def explained(call: Callable[[], object]) -> list[Plan]:
    """The plan of each statement of a call on our tables, as it was run; what it did is taken back."""
    plans: list[Plan] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "tinystore_django_" in sql:
            with transaction.atomic():
                execute(f"explain (analyze, buffers, format json) {sql}", params, many, context)
                answer = context["cursor"].fetchone()[0]
                transaction.set_rollback(True)
            plans.append(Plan(sql, (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]))
        return execute(sql, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(explain):
            call()
        transaction.set_rollback(True)
    return plans


@pytest.fixture
def many(shop: Store, transactional_db: None) -> Queue[Any]:
    """A hundred thousand waiting jobs, which were added in no order, and a tenth as many of another queue."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, [MANY])
        cursor.execute(FILL.replace("'many'", "'others'"), [MANY // 10])
    vacuum()
    return shop.queue("many", str, max_waiting=2 * MANY)


def vacuum() -> None:
    """Gathers statistics and marks every page as visible to all, as the server does by itself in time."""

    def all_visible() -> bool:
        # What has just been committed may still count as new for a moment.
        with connection.cursor() as cursor:
            cursor.execute("vacuum analyze tinystore_django_job")
            cursor.execute("select relallvisible = relpages from pg_class where relname = 'tinystore_django_job'")
            return bool(cursor.fetchone()[0])

    wait_for(all_visible)


def check(plans: list[Plan], *indexes: str, most: int = MOST) -> None:
    said = [(plan.sql, plan.pages, plan.indexes, plan.scanned) for plan in plans]
    assert sum(plan.pages for plan in plans) < most, said
    assert set().union(*(plan.scanned for plan in plans)) == set(), said
    assert set().union(*(plan.indexes for plan in plans)) == set(indexes), said


def test_the_calls_on_one_id_read_a_few_pages_by_the_index_of_ids(shop: Store, many: Queue[Any]) -> None:
    queue = shop.queue("others", str)

    check(explained(lambda: queue.add("hello", id="new")))
    check(explained(lambda: queue.add("hello", id="chat:500")), "tinystore_job_key")
    for call in (
        lambda: queue.set("chat:500", "hello"),
        lambda: queue.update("chat:500", "hello"),
        lambda: queue.cancel("chat:500"),
    ):
        check(explained(call), "tinystore_job_key", "tinystore_django_job_pkey")


def test_many_ids_are_looked_for_by_the_index_of_ids(shop: Store, many: Queue[Any]) -> None:
    queue = shop.queue("others", str)

    free = explained(lambda: queue.add_many((f"new:{number}" for number in range(200)), id=str))
    taken = explained(lambda: queue.add_many((f"chat:{number}" for number in range(1, 201)), id=str))

    check(free, "tinystore_job_key", most=5 * 200)
    assert [plan.sql for plan in taken if plan.scanned] == []


@pytest.mark.parametrize("number", [1, 5, 20_001, MANY])
def test_get_with_the_jobs_ahead_reads_a_few_pages_wherever_the_job_stands(number: int, many: Queue[Any]) -> None:
    found = []

    plans = explained(lambda: found.append(many.get(f"chat:{number}")))

    assert found[0].ahead == min(10_000, found[0].ahead)
    assert (found[0].ahead == 10_000) == (number > 20_000)
    check(plans, "tinystore_job_key", "tinystore_job_ready")


def test_a_look_at_many_watched_jobs_reads_a_few_pages_a_job_and_one_walk_of_the_line(many: Queue[Any]) -> None:
    sights = {
        number: first("default", "many", f"chat:{number}", many._declaration.codec, None) for number in range(1, 41)
    }
    seen = {number: sight for number, sight in sights.items() if sight is not None}
    changed = {number: replace(sight, job=replace(sight.job, attempt=7)) for number, sight in seen.items()}

    plans = explained(lambda: look("default", changed))

    assert len(seen) == 40
    check(plans, "tinystore_django_job_pkey", "tinystore_job_ready", most=MOST + 2 * 4 * len(seen))


def test_the_jobs_ahead_of_many_of_one_time_are_counted_in_a_few_pages(shop: Store, many: Queue[Any]) -> None:
    tied = shop.queue("tied", int)
    tied.add_many(range(30_000), id=str)
    vacuum()
    found = []

    plans = explained(lambda: found.append(tied.get("4999")))
    plans_of_last = explained(lambda: found.append(tied.get("29999")))

    assert [job.ahead for job in found] == [4_999, 10_000]
    check(plans, "tinystore_job_key", "tinystore_job_ready")
    check(plans_of_last, "tinystore_job_key", "tinystore_job_ready")


@pytest.mark.parametrize("state", [None, "waiting"])
def test_a_page_of_a_hundred_by_prefix_reads_about_a_page_a_job(state: Any, many: Queue[Any]) -> None:
    found = []

    plans = explained(lambda: found.append(many.list(prefix="chat:5", state=state)))

    assert len(found[0].jobs) == 100
    check(plans, "tinystore_job_key")


def test_a_page_of_failed_jobs_reads_about_a_page_a_job(many: Queue[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "update tinystore_django_job set state = 2, ended_at = id, until = 2e17, kept_until = 2e17"
            " where queue = 'many' and id %% 10 = 0",
            [],
        )
    vacuum()
    found = []

    plans = explained(lambda: found.append(many.list(state="failed")))

    assert len(found[0].jobs) == 100
    check(plans, "tinystore_job_ended")


def test_room_in_a_queue_is_counted_by_the_index_of_what_waits(many: Queue[Any], shop: Store) -> None:
    small = shop.queue("small", str, max_waiting=100)

    plans = explained(lambda: small.add("hello"))

    check(plans, "tinystore_job_ready", "tinystore_job_aside")


def test_a_claim_goes_by_the_index_of_what_waits_and_a_settle_by_the_primary_key(many: Queue[Any]) -> None:
    hand = Hand()

    plans = explained(lambda: hand.take(many, 10))

    assert sum(plan.pages for plan in plans) < 40 * 10
    # One of the two indexes of queues' names says whether it is paused.
    by = [{name for name in plan.indexes if not name.startswith("tinystore_django_queue_")} for plan in plans]
    assert by == [{"tinystore_job_ready", "tinystore_django_job_pkey"}] * len(plans)
    assert not any(plan.scanned for plan in plans)


@pytest.mark.parametrize("kind", ["done", "retry", "failed"])
def test_a_settle_never_walks_the_index_of_what_runs(kind: Any, many: Queue[Any]) -> None:
    hand = Hand()
    held = hand.take(many, 100)
    finished = [Finished(one, Ending(kind, "no luck"), queue_options()) for one in held]

    plans = explained(lambda: settle("default", finished))

    assert plans
    check(plans, "tinystore_django_job_pkey", most=40 * 100)
