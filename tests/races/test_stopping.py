"""SIGTERM and SIGINT: what runs ends, what waits goes on waiting."""

from __future__ import annotations

import random
import signal
import time
from typing import Any

import pytest
from django.db import connection, transaction

from tests.programs import Program, wait_for, worker
from tests.project.jobs import Nap, async_naps, marks, naps
from tests.project.models import End, Mark, Start
from tests.races.helpers import waits_for_a_lock
from tinystore_django.models import Job as Row
from tinystore_django.models import Lease

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SIGNALS = [signal.SIGTERM, signal.SIGINT]


def starting(*arguments: str) -> Program:
    """A worker that has just said what it runs."""
    program = worker(*arguments)
    program.wait_for_line("tinystore_django", "runs")
    return program


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stopping_worker_ends_its_job_and_takes_no_other(number: signal.Signals) -> None:
    for name in "abc":
        naps.add(Nap(name, seconds=2), id=name)

    with worker("naps") as one:
        wait_for(Start.objects.exists)
        one.send(number)
        assert one.wait() == 0
        stopped = time.time()

    assert [start.name for start in Start.objects.all()] == ["a"]
    assert stopped - End.objects.get().at < 1 + 2
    assert naps.get("a") is None
    assert [(job.state, job.attempt) for job in map(naps.get, "bc")] == [("waiting", 0)] * 2
    assert not Lease.objects.exists()


@pytest.mark.parametrize("stopped_by", ["a signal", "--until-idle", "--max-jobs=1"])
def test_a_worker_that_is_to_stop_ends_with_its_last_job_however_long_its_poll(stopped_by: str) -> None:
    naps.add(Nap("a", seconds=1.5), id="a")

    with worker("naps", "--poll=30s", *([stopped_by] if stopped_by != "a signal" else [])) as one:
        wait_for(Start.objects.exists)
        if stopped_by == "a signal":
            one.send(signal.SIGTERM)
        assert one.wait() == 0
        stopped = time.time()

    assert stopped - End.objects.get().at < 1 + 2


@pytest.mark.parametrize("number", SIGNALS)
def test_an_idle_worker_stops_at_once(number: signal.Signals) -> None:
    with worker("naps", "marks", "--poll=30s") as one:
        wait_for(Lease.objects.exists)
        time.sleep(0.5)
        asked = time.monotonic()
        one.send(number)
        assert one.wait() == 0

    assert time.monotonic() - asked < 1 + 2
    assert len(one.lines) == 2  # its beginning and its end


def test_two_signals_right_after_the_start_are_one_wish_to_stop() -> None:
    with starting("naps") as one:
        one.send(signal.SIGTERM)
        time.sleep(0.01)
        one.send(signal.SIGTERM)
        assert one.wait() == 0

    assert len(one.lines) == 2  # its beginning and its end


def test_a_signal_at_any_moment_leaves_every_job_done_or_waiting() -> None:
    names = [f"{number:03}" for number in range(400)]
    for name in names:
        marks.add(name)

    for seed in range(3):
        with starting("marks", "--concurrency=4") as one:
            time.sleep(random.Random(seed).uniform(0.0, 0.2))
            one.send(signal.SIGTERM)
            assert one.wait() == 0
        assert one.said("Traceback") == []
        assert not Lease.objects.exists()

    done = [mark.name for mark in Mark.objects.all()]
    waiting = [
        str(value).strip('"') for value in Row.objects.filter(state=0, attempt=0).values_list("value", flat=True)
    ]
    assert sorted(done + waiting) == names


def test_a_second_signal_ends_a_worker_at_once_with_1() -> None:
    naps.add(Nap("a", seconds=60), id="a")

    with worker("naps") as one:
        wait_for(Start.objects.exists)
        one.send(signal.SIGTERM)
        time.sleep(0.5)
        assert one.code is None
        one.send(signal.SIGTERM)
        assert one.wait(10) == 1

    assert naps.get("a").state == "running"
    assert one.said("Traceback") == []


def test_a_signal_that_comes_twice_within_a_moment_is_one() -> None:
    naps.add(Nap("a", seconds=2), id="a")

    with worker("naps") as one:
        wait_for(Start.objects.exists)
        one.send(signal.SIGTERM)
        one.send(signal.SIGINT)
        assert one.wait() == 0

    assert End.objects.count() == 1
    assert naps.get("a") is None


@pytest.mark.parametrize("queue", [naps, async_naps], ids=lambda queue: queue.name)
def test_a_job_that_outlasts_the_grace_is_given_back_uncounted(queue: Any) -> None:
    queue.add(Nap("a", seconds=60), id="a")

    with worker(queue.name, "--grace=1s") as one:
        wait_for(Start.objects.exists)
        one.send(signal.SIGTERM)
        assert one.wait() == 0
    assert len(one.said("stopping: waits up to 1 s for 1 run")) == 1
    assert len(one.said(f"{queue.name} id=a attempt=1 given back")) == 1
    given_back = queue.get("a")
    with starting(queue.name):
        began = time.time()
        wait_for(lambda: Start.objects.count() == 2)

    assert (given_back.state, given_back.attempt, given_back.error) == ("waiting", 0, None)
    again = Start.objects.last()
    assert again.attempt == 1
    assert again.at - began < 2 + 2
    assert not End.objects.exists()


@pytest.mark.postgresql  # of SQLite's lock: test_sqlite_writers
@pytest.mark.parametrize("busy", [True, False])
def test_a_statement_that_gets_no_answer_keeps_no_worker_past_its_grace(busy: bool) -> None:
    if busy:
        naps.add(Nap("long", 60))
    with worker("naps", "--grace=1s", "--poll=100ms") as one:
        one.wait_for_line("runs")
        wait_for(lambda: Start.objects.exists() or not busy)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("lock table tinystore_django_job in access exclusive mode")
            wait_for(waits_for_a_lock)
            one.send(signal.SIGTERM)
            assert one.wait(20) == 0
