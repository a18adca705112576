"""What steps and progress cost PostgreSQL beside twenty thousand jobs: a few pages, by primary keys and names."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from tests.byhand import LEASE, Hand
from tests.databases.test_plans import FILL, check, explained, vacuum
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import clearing, leasing, stepping
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.options import queue_options

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

JOB, PROGRESS = "tinystore_django_job_pkey", "tinystore_django_progress_pkey"
MANY = 20_000
KEPT = """
    insert into tinystore_django_step (job, name, answer)
    select 1000000 + n / 10, 'step ' || n %% 10, '1' from generate_series(1, %s) n
"""


@pytest.fixture
def many(shop: Store) -> Queue[Any]:
    with connection.cursor() as cursor:
        cursor.execute(FILL, [MANY])
        cursor.execute(KEPT, [MANY])
        cursor.execute("analyze tinystore_django_step")
    vacuum()
    return shop.queue("many", str)


def test_reports_and_steps_of_running_jobs_are_written_read_and_dropped_in_a_few_pages(many: Queue[Any]) -> None:
    hand = Hand()
    runs = hand.take(many, 100)
    for held in runs:
        stepping.report("default", held.fence, "1")
    held = runs[0]
    fence, ended = held.fence, [Finished(held, Ending("done"), queue_options(), True, True)]

    check(explained(lambda: stepping.report("default", fence, "2")), JOB, most=20)
    check(explained(lambda: stepping.keep("default", fence, "ask", "1")), JOB, most=60)
    check(explained(lambda: stepping.kept("default", held.id)), "tinystore_step_name", most=10)
    dropped = [
        plan for plan in explained(lambda: settle("default", ended)) if "_progress" in plan.sql or "_step" in plan.sql
    ]
    check(dropped[-2:], "tinystore_step_name", PROGRESS, most=20)


def test_a_look_for_progress_left_behind_reads_a_few_pages_for_each_report(many: Queue[Any]) -> None:
    hand = Hand()
    for held in hand.take(many, 100):
        stepping.report("default", held.fence, "1")
    models.Progress.objects.create(job=10**9, run=1, progress="1")

    looks = explained(lambda: leasing.renew("default", hand.lease, LEASE))
    cleared = explained(lambda: clearing.clear_progress("default"))

    for plans in (looks, cleared):
        assert sum(plan.pages for plan in plans) < 10 * 100
        assert not any("tinystore_django_job" in plan.scanned for plan in plans)
