"""Limits over several workers: the promises one by one, with workers that stop, die and have other options."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from tests.byhand import Hand
from tests.programs import Program, other_settings, script, wait_for, worker
from tests.project.jobs_limits import deployed, one_by_one, one_chance, paced, singles, tenants
from tests.project.models import Event
from tests.races.helpers import together
from tests.races.oracle import faults, noted
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.lifecycle import asides
from tinystore_django.models import Job as Row
from tinystore_django.models import Lease
from tinystore_django.models import Queue as QueueRow
from tinystore_django.options import queue_options

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# So long a poll that what happens soon has another cause.
LONG_POLL = "--poll=60s"


def began(**about: Any) -> list[str]:
    """The ids of the jobs whose handlers began, in that order."""
    return list(Event.objects.filter(what="began", **about).values_list("key", flat=True))


def unique(ms: int) -> str:
    """An id, for a job whose value does not tell it from the others."""
    return uuid4().hex


def starts() -> list[float]:
    """When jobs were claimed, in seconds."""
    return sorted(at / 1e6 for at in Event.objects.filter(what="running").values_list("started_at", flat=True))


def worker_that(does: str, *arguments: str) -> Program:
    """A worker with some code changed in it."""
    return script(
        f"import os, signal, sys\nfrom django.core.management import call_command\n{does}\n"
        f"call_command('tinystore_work', *{arguments!r})"
    )


def test_a_rate_is_exact_over_two_workers_and_used_to_the_full() -> None:
    with noted(), worker("paced", "--concurrency=8", LONG_POLL) as one, worker("paced", "--concurrency=8", LONG_POLL):
        one.wait_for_line("runs")
        paced.add_many([1] * 150, id=unique)
        wait_for(lambda: not Row.objects.exists())

        assert faults(paced) == []
    assert len(starts()) == 150
    assert starts()[-1] - starts()[0] < 5 * 0.4 + 8  # five waits for the window, and a busy machine


def test_the_jobs_of_one_group_follow_each_other_without_a_gap() -> None:
    with noted(), worker("one-by-one", "--processes=4", "--poll=1s"):
        for number in range(200):
            one_by_one.add(0, id=str(number), group="g")
        wait_for(lambda: not Row.objects.exists())

        assert faults(one_by_one) == []
    assert len(starts()) == 200
    assert max(later - earlier for earlier, later in pairwise(starts())) < 1 + 1


def test_a_retry_in_wait_does_not_hold_up_its_group() -> None:
    with transaction.atomic():
        one_by_one.add(-1, id="fails", group="g")
        one_by_one.add(0, id="behind", group="g")

    with worker("one-by-one", LONG_POLL):
        wait_for(lambda: one_by_one.get("behind") is None, 20)
        one_by_one.add(0, id="later", group="g")
        wait_for(lambda: one_by_one.get("later") is None, 10)

    failed = one_by_one.get("fails")
    assert (failed.state, failed.attempt) == ("scheduled", 1)


def test_one_tenants_backlog_holds_up_no_other() -> None:
    tenants.add_many([100] * 5000, group=lambda _: "a", id=unique)

    with noted(), worker("tenants", LONG_POLL):
        wait_for(lambda: len(began(group="a")) > 2)
        added = time.monotonic()
        tenants.add(0, id="b", group="b")
        wait_for(lambda: began(group="b"))
        waited = time.monotonic() - added

        assert [fault for fault in faults(tenants) if "is left" not in fault] == []
    assert waited < 1 + 2
    assert len(began(group="a")) < 100


def test_a_job_given_back_by_a_stopping_worker_leaves_its_place_to_the_next_run() -> None:
    one_by_one.add(60_000, id="long", group="g")
    one_by_one.add(0, id="behind", group="g")

    with worker("one-by-one", "--grace=1s") as one:
        wait_for(lambda: began() == ["long"])
        one.send(signal.SIGTERM)
        assert one.wait() == 0
    given_back = one_by_one.get("long")
    with worker("one-by-one", LONG_POLL) as next_one:
        next_one.wait_for_line("runs")
        wait_for(lambda: len(began()) == 2, 10)

    assert (given_back.state, given_back.attempt, given_back.ahead) == ("waiting", 0, 0)
    assert began() == ["long", "long"]


STOPS_IN_A_TRANSACTION = """
from tinystore_django.databases.postgresql import PostgreSQL

claim, run_all = PostgreSQL.claim, PostgreSQL.run_all

def stop_in_one(self, holds):
    if holds and self.in_transaction():
        os.kill(os.getpid(), signal.SIGSTOP)

def claim_and_stop(self, *arguments, **more):
    claimed = claim(self, *arguments, **more)
    stop_in_one(self, claimed.held)
    return claimed

def run_all_and_stop(self, statements, parameters):
    answers = run_all(self, statements, parameters)
    stop_in_one(self, "jobs" in parameters and "until" in parameters)
    return answers

PostgreSQL.claim = claim_and_stop
PostgreSQL.run_all = run_all_and_stop
"""


@pytest.mark.postgresql  # on SQLite a stopped writer holds up everybody, whatever it writes
@pytest.mark.parametrize("queue", [one_by_one, singles], ids=lambda queue: queue.name)
def test_a_worker_stopped_in_its_claim_holds_up_the_others_for_seconds_only(queue: Queue[int]) -> None:
    queue.add(-1, id="fails", group="g")
    queue.add(0, id="a", group="g")

    with worker_that(STOPS_IN_A_TRANSACTION, queue.name, "--lease=3s") as stopped:
        wait_for(lambda: is_stopped(stopped.pid))
        with worker(queue.name, "--lease=3s", LONG_POLL) as other:
            other.wait_for_line("runs")
            wait_for(lambda: queue.get("a") is None, 5 + 5)


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


DIES_BEFORE_IT_GIVES_ON = """
from tinystore_django.lifecycle import asides

def die(alias, runs):
    if list(runs):
        os.kill(os.getpid(), signal.SIGKILL)

asides.ended = die
"""

LEAVES_LOST_RUNS_TO_OTHERS = """
from tinystore_django.lifecycle import leasing

leasing.sweep = lambda alias, options_of: {}
"""


def test_a_group_goes_on_though_who_took_its_lost_run_back_dies_before_it_gives_the_place_on() -> None:
    one_chance.add(60_000, id="lost", group="g")
    one_chance.add(0, id="behind", group="g")

    with worker("one-chance", "--lease=1s") as first:
        wait_for(lambda: began() == ["lost"])
        with worker_that(LEAVES_LOST_RUNS_TO_OTHERS, "one-chance", "--poll=500ms") as other:
            other.wait_for_line("runs")
            first.kill()
            with worker_that(DIES_BEFORE_IT_GIVES_ON, "one-chance", "--lease=1s") as sweeper:
                assert sweeper.wait() == -signal.SIGKILL
            wait_for(lambda: began() == ["lost", "behind"], 5)

    assert one_chance.get("lost").state == "failed"


def test_old_workers_with_a_group_limit_and_new_ones_without_leave_nothing(shop: Store, tmp_path: Path) -> None:
    before = shop.queue("deployed", int, concurrency=Concurrency(group=1))
    old = other_settings(tmp_path, "old", OPTIONS.format("Concurrency(group=1)"))

    with worker("deployed", "--lease=2s", LONG_POLL) as new:
        with worker("deployed", "--lease=2s", LONG_POLL, **old) as one:
            one.wait_for_line("runs")
            for number in range(60):
                (before, deployed)[number % 2].add(5, id=str(number), group="abc"[number % 3])
            one.send(signal.SIGTERM)
            assert one.wait() == 0
        new.wait_for_line("runs")
        before.add_many([0] * 10, group=lambda _: "d")
        wait_for(lambda: not Row.objects.exists(), 15)

    assert sorted(began(group__in="abc")) == sorted(str(number) for number in range(60))


OPTIONS = "from tinystore_django import Concurrency\nDEPLOYED = {{'concurrency': {}}}"


def test_of_two_workers_with_different_limits_each_keeps_its_own(tmp_path: Path) -> None:
    narrow = other_settings(tmp_path, "narrow", OPTIONS.format("Concurrency(total=2, group=1)"))
    wide = other_settings(tmp_path, "wide", OPTIONS.format("Concurrency(total=5, group=3)"))

    with noted(), worker("deployed", **narrow) as one, worker("deployed", **wide) as two:
        one.wait_for_line("runs")
        two.wait_for_line("runs")
        lease = wait_for(lambda: Lease.objects.filter(name__endswith=f":{one.pid}").first()).pk
        deployed.add_many([20] * 120, group=lambda _: "a", id=unique)
        deployed.add_many([20] * 60, group=lambda _: "b", id=unique)
        wait_for(lambda: not Row.objects.exists())

        options = queue_options(concurrency=Concurrency(total=5, group=3))
        assert faults(deployed, options) == []
    assert max(running_at_claims_under(lease), default=0) <= 2


def running_at_claims_under(lease: int) -> list[int]:
    """How many ran at each claim under a lease, with what it claimed."""
    running: set[int | None] = set()
    counts = []
    for event in Event.objects.filter(job__isnull=False):
        running.discard(event.job)
        if event.what == "running":
            running.add(event.job)
            counts += [len(running)] if event.lease == lease else []
    return counts


def test_jobs_set_aside_are_ready_soon_after_their_limit_is_removed(shop: Store) -> None:
    before = shop.queue("deployed", int, concurrency=Concurrency(group=1))
    before.add_many([0] * 10_000, group=lambda _: "g")
    assert Row.objects.filter(state=Row.State.ASIDE).count() == 9_999

    began_at = time.monotonic()
    with deployed.work():
        wait_for(lambda: not Row.objects.filter(state=Row.State.ASIDE).exists())
        waited = time.monotonic() - began_at

    assert waited < 10


@pytest.mark.postgresql
def test_who_gives_places_on_waits_for_one_queue_and_holds_no_other(hand: Hand) -> None:
    held = []
    for queue in (one_by_one, singles):
        queue.add(0, group="g")
        held.append(hand.take_one(queue))
        asides.tend("default", {queue.name: queue._declaration.options})

    with ExitStack() as afterwards, transaction.atomic():
        assert QueueRow.objects.select_for_update().get(name="singles")
        afterwards.enter_context(together(lambda: asides.ended("default", held)))
        wait_for(someone_waits)
        assert QueueRow.objects.select_for_update(nowait=True).get(name="one-by-one")


def someone_waits() -> bool:
    """Whether somebody waits for a lock of ours."""
    waits = "select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))"
    with connection.cursor() as cursor:
        cursor.execute(waits)
        return bool(cursor.fetchone()[0])
