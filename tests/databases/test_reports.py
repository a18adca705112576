"""A report of progress: a small row, fenced, which neither writes nor waits for the job's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from tests.byhand import Hand
from tests.worker.test_hold import in_threads
from tinystore_django import Queue, Store, models
from tinystore_django.databases import database
from tinystore_django.databases.rows import Held

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 1024 * 1024


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


@pytest.fixture
def held(emails: Queue[Any], hand: Hand) -> Held:
    emails.add("a", id="x")
    return hand.take_one(emails)


def report(held: Held, progress: str) -> None:
    database("default").report(held.fence, progress)


def shown() -> str | None:
    return models.Job.objects.get().progress


def test_the_latest_report_of_a_run_is_shown(held: Held) -> None:
    before = shown()
    report(held, "1")
    report(held, '{"é": "%s"}')

    assert (before, shown()) == (None, '{"é": "%s"}')
    assert models.Progress.objects.count() == 1


def test_a_report_of_a_run_that_is_not_the_jobs_changes_nothing(held: Held) -> None:
    report(held, "1")

    for stale in [(held.id, 2, held.lease), (held.id, 0, held.lease), (held.id, held.run, 9), (9, 1, held.lease)]:
        database("default").report(stale, "2")

    assert shown() == "1"
    assert models.Progress.objects.count() == 1


def test_a_late_report_is_not_shown_by_the_run_that_came_after_it(emails: Queue[Any], held: Held, hand: Hand) -> None:
    hand.end(held, "retry", delay=0, reported=True)
    again = hand.take_one(emails)
    models.Progress.objects.create(job=held.id, run=held.run, progress="1")  # it crossed the settle
    before = shown()
    report(again, "2")
    report(held, "3")

    assert (before, shown()) == (None, "2")


def test_a_report_that_crossed_the_next_runs_first_leaves_that_alone(emails: Queue[Any], held: Held) -> None:
    models.Progress.objects.create(job=held.id, run=held.run + 1, progress="2")

    report(held, "1")  # its look at the job was before the claim

    assert models.Progress.objects.get().progress == "2"


def test_a_cancelled_job_reports_nothing_more(emails: Queue[Any], held: Held) -> None:
    report(held, "1")
    emails.cancel("x")
    report(held, "2")

    assert models.Progress.objects.get().progress == "1"


@pytest.mark.postgresql
def test_a_report_leaves_the_jobs_row_unwritten_and_waits_for_nobody(held: Held) -> None:
    def row() -> tuple[Any, ...]:
        with connection.cursor() as cursor:
            cursor.execute("select ctid::text, xmin::text, xmax::text from tinystore_django_job")
            return tuple(cursor.fetchone())

    before = row()
    report(held, "1")
    after = row()
    with transaction.atomic():
        models.Job.objects.select_for_update().get()
        (thread,) = in_threads(1, lambda: report(held, "2"))
        seen = shown()

    assert before == after
    assert (thread.is_alive(), seen) == (False, "2")


@pytest.mark.sqlite
def test_a_report_writes_little_however_long_the_value_is(emails: Queue[Any], hand: Hand) -> None:
    emails.add("a" * (MIB - 2))
    held = hand.take_one(emails)
    wal = Path(f"{connection.settings_dict['NAME']}-wal")
    with connection.cursor() as cursor:
        cursor.execute("pragma wal_checkpoint(truncate)")
    report(held, "0")
    before = wal.stat().st_size

    for number in range(1, 11):
        report(held, str(number))

    assert (before > 0, shown()) == (True, "10")
    assert wal.stat().st_size - before < 10 * 3 * 4200  # a page or two each, and never the value's 250
