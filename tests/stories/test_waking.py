"""How soon a worker starts what another process adds, and what it costs while there is nothing to do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.db import transaction

from tests.programs import Program, other_settings, wait_for, worker
from tests.project.jobs import Nap, four_naps, marks
from tests.project.models import End, Mark
from tinystore_django.models import Job as Row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# Each statement of the process becomes a line, which the test reads.
LOUD = """
import os

from django.db.backends.signals import connection_created

def say(execute, sql, params, many, context):
    os.write(1, f"SQL: {' '.join(sql.split())}\\n".encode())  # in one piece: two threads speak at once
    return execute(sql, params, many, context)

def listen_in(connection, **kwargs):
    connection.execute_wrappers.append(say)

connection_created.connect(listen_in)
"""


def ran(name: str) -> float:
    """Waits until a mark's job has run; when it did."""
    return wait_for(lambda: Mark.objects.filter(name=name).first()).at


def awake(program: Program) -> None:
    """Waits until a worker has run a job, and has nothing to do."""
    marks.add("awake")
    program.wait_for_line("marks pk=", "attempt=1 done")
    time.sleep(0.5)


def test_a_job_that_another_process_adds_starts_long_before_the_poll() -> None:
    with worker("marks", "--poll=30s") as one:
        awake(one)
        for name in "abc":
            added = time.time()
            with transaction.atomic():
                marks.add(name)
            assert ran(name) - added < 5
            time.sleep(0.3)


def test_a_delayed_job_starts_at_its_time_whatever_the_poll() -> None:
    with worker("marks", "--poll=30s") as one:
        awake(one)
        added = time.time()
        marks.add("a", delay="2s")

        assert 2 <= ran("a") - added < 2 + 5


def test_a_worker_asleep_until_a_later_job_hears_of_an_earlier_one() -> None:
    with worker("marks", "--poll=30s") as one:
        awake(one)
        marks.add("later", id="x", delay="25s")
        time.sleep(0.5)
        added = time.time()
        marks.update("x", "sooner", delay="1s")

        assert 1 <= ran("sooner") - added < 1 + 5


@pytest.mark.postgresql
def test_without_notify_a_worker_finds_jobs_by_its_poll_only(tmp_path: Path) -> None:
    settings = other_settings(tmp_path, "quiet", 'TINYSTORE = {"NOTIFY": False}')

    with worker("marks", "--poll=4s", **settings) as one:
        awake(one)
        added = time.time()
        marks.add("a")

        assert ran("a") - added > 1.5
        assert one.lines[0].endswith("woken every 4s")


def test_full_handlers_do_not_wait_for_the_poll() -> None:
    with worker("four-naps", "--poll=5s") as one:
        one.wait_for_line("runs four-naps")
        added = time.time()
        with transaction.atomic():
            for number in range(100):
                four_naps.add(Nap(str(number), seconds=0.01))
        wait_for(lambda: End.objects.count() == 100)

    assert End.objects.last().at - added < 3 + 5  # a poll for each four of them would take 125 s


def test_an_idle_worker_asks_one_question_a_poll_however_many_queues_it_has(tmp_path: Path) -> None:
    settings = other_settings(tmp_path, "loud", LOUD)
    marks.add("later", delay="1h")

    with worker("--poll=500ms", "--lease=6s", **settings) as one:
        one.wait_for_line("SQL:", "tinystore_django_job")
        time.sleep(1)
        before = len(one.lines)
        time.sleep(5)
        asked = one.lines[before:]

    renewals = [line for line in asked if "update tinystore_django_lease" in line]
    questions = [line for line in asked if line.startswith("SQL:") and line not in renewals]
    assert len(asked) == len(renewals) + len(questions)
    assert len(renewals) <= 3
    # A renewal writes to the file, which is what wakes a worker on SQLite, and with it go two questions about the
    # queues with a limit.
    assert 1 <= len(questions) <= 10 + 1 + 3 * len(renewals)
    assert one.said(" runs ")[0].count(" at once)") > 5
    assert Row.objects.count() == 1
