"""What a tick costs PostgreSQL, by its own account: the pages of any settle, however many jobs repeat."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from tests.byhand import Hand, after
from tests.databases.test_plans import Plan, check, explained, vacuum
from tinystore_django import Queue, Store, models
from tinystore_django.databases.known import numbers_in
from tinystore_django.lifecycle import repeating, scheduling, unread
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.options import queue_options
from tinystore_django.testing import Clock
from tinystore_django.timing.repeats import read

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

MANY = 100_000
BATCH = 100
FILL = """
    insert into tinystore_django_job (queue, key, value, repeat, at, due)
    select 'reports', 'report:' || n, 'null', '@every 1h +' || n || 'ms', at, at
    from (select n, %(start)s + n * 36000::bigint as at from generate_series(1, %(many)s) n order by md5(n::text)) s
"""


@pytest.fixture
def reports(shop: Store, clock: Clock) -> Queue[Any]:
    """A hundred thousand jobs that repeat every hour, each at a time of its own."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"many": MANY, "start": int(after().timestamp() * 1e6)})
    vacuum()
    return shop.queue("reports")


def settled(queue: Queue[Any], kind: Any) -> list[Plan]:
    """The plans of a settle of a hundred runs."""
    finished = [Finished(held, Ending(kind, "no luck"), queue_options()) for held in Hand().take(queue, BATCH)]
    assert len(finished) == BATCH
    plans = explained(lambda: settle("default", finished))
    settle("default", finished)
    return plans


def test_a_tick_of_one_of_a_hundred_thousand_repeating_jobs_costs_what_an_ordinary_settle_costs(
    reports: Queue[Any], shop: Store, clock: Clock
) -> None:
    plain = shop.queue("plain")
    plain.add_many(range(BATCH))
    vacuum()
    ordinary = settled(plain, "retry")
    clock.advance("10m")

    tick = settled(reports, "done")

    check(tick, "tinystore_django_job_pkey", most=40 * BATCH)
    assert len(tick) == len(ordinary) == 1
    # A tick goes to a place of its own in the index of what waits, deeper here; a retry next to its neighbours.
    assert tick[0].pages < 1.5 * ordinary[0].pages


def test_a_schedule_is_opened_by_a_few_pages_among_them(reports: Queue[Any]) -> None:
    hourly = {"cleanup": read("0 * * * * UTC")}

    opened = explained(lambda: scheduling.open_all("default", hourly))
    scheduling.open_all("default", hourly)
    changed = explained(lambda: scheduling.open_all("default", {"cleanup": read("30 * * * * UTC")}))

    check([plan for plan in opened if "tinystore_django_job" in plan.sql], "tinystore_job_key")
    check(changed, "tinystore_job_key", "tinystore_django_job_pkey")


def test_what_is_shown_of_one_of_them_or_cancelled_reads_a_few_pages(reports: Queue[Any]) -> None:
    named = [repeating.Name("reports", "report:500")]

    shown = explained(lambda: list(repeating.others("default", named)))
    cancelled = explained(lambda: repeating.cancel("default", "reports", "report:500"))

    check(shown, "tinystore_job_key", "tinystore_django_job_pkey")
    check(cancelled, "tinystore_job_key", "tinystore_django_job_pkey")


def test_many_rows_by_their_primary_keys_are_read_by_its_index(reports: Queue[Any]) -> None:
    keys = list(models.Job.objects.order_by("?").values_list("pk", flat=True)[:2_000])

    read = explained(lambda: len(models.Job.objects.filter(pk__in=numbers_in("default", keys), repeat__isnull=False)))

    check(read, "tinystore_django_job_pkey", most=5 * 2_000)


def test_repeats_that_did_not_read_are_looked_for_in_many_queues_by_their_index(reports: Queue[Any]) -> None:
    names = ["reports", *(f"queue-{number}" for number in range(2_000))]

    looked = explained(lambda: unread.take_up("default", names))

    check(looked, "tinystore_job_ready", most=5 * 2_000)
