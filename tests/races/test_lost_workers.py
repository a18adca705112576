"""Workers that die, or that are taken for dead, in the middle of a job."""

from __future__ import annotations

import signal
import time
from itertools import pairwise

import pytest
from django.db import OperationalError, connection, transaction

from tests.programs import Program, wait_for, worker
from tests.project.jobs import Nap, last_chances, naps, stumbles
from tests.project.models import End, Start
from tinystore_django.models import Job as Row
from tinystore_django.models import Lease

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def starts() -> list[int]:
    return [start.attempt for start in Start.objects.all()]


def ends() -> list[int]:
    return [end.attempt for end in End.objects.all()]


def test_a_killed_workers_job_is_run_again_by_another() -> None:
    stumbles.add(Nap("a", seconds=60), id="k1")

    with worker("stumbles", "--lease=3s") as first:
        wait_for(lambda: starts() == [1])
        first.kill()
    killed = time.time()
    held = stumbles.get("k1")
    with worker("stumbles", "--lease=3s") as second:
        wait_for(lambda: stumbles.get("k1") is None)

    assert held is not None
    assert (held.state, held.attempt) == ("running", 1)
    assert (starts(), ends()) == ([1, 2], [2])
    assert Start.objects.last().at - killed < 3 + 4  # the lease, and something for a busy machine
    assert not Row.objects.exists()
    assert len(second.said("INFO stumbles id=k1 attempt=1 lost: the worker was lost")) == 1


def test_a_job_lost_in_its_last_attempt_has_failed() -> None:
    last_chances.add(Nap("a", seconds=60), id="k1")

    with worker("last-chances", "--lease=1500ms") as first:
        wait_for(lambda: starts() == [1])
        first.kill()
    with worker("last-chances", "--lease=1500ms"):
        wait_for(lambda: last_chances.get("k1").state == "failed")

    job = last_chances.get("k1")
    assert (job.attempt, job.error, starts()) == (1, "the worker was lost", [1])
    assert job.last_run.started_at <= job.last_run.ended_at


def test_a_lost_job_is_found_though_nothing_is_left_of_its_worker() -> None:
    stumbles.add(Nap("a", seconds=60), id="k1")

    with worker("stumbles", "--lease=10m") as first:
        wait_for(lambda: starts() == [1])
        first.kill()
    Lease.objects.all().delete()
    with worker("stumbles", "--lease=1500ms"):
        wait_for(lambda: stumbles.get("k1") is None)

    assert (starts(), ends()) == ([1, 2], [2])


def test_a_lost_job_that_no_longer_reads_keeps_no_other_from_running() -> None:
    for number in range(10):
        stumbles.add(Nap(str(number), seconds=60), id=str(number))

    with worker("stumbles", "--concurrency=10", "--lease=1500ms") as first:
        wait_for(lambda: len(starts()) == 10)
        first.kill()
    Row.objects.filter(key="3").update(value='{"name": 3')
    with worker("stumbles", "--concurrency=10", "--lease=1500ms"):
        wait_for(lambda: len(ends()) == 9 and Row.objects.count() == 1)
        wait_for(lambda: stumbles.get("3").state == "failed")

    assert sorted(end.name for end in End.objects.all()) == sorted(set("0123456789") - {"3"})
    assert stumbles.get("3").error.startswith("its value no longer reads:")


def test_a_lease_is_renewed_twice_in_its_length_while_a_job_runs() -> None:
    naps.add(Nap("a", seconds=6))
    expiries: list[float] = []

    def note() -> bool:
        lease = Lease.objects.first()
        if lease is not None and lease.expires_at.timestamp() not in expiries:
            expiries.append(lease.expires_at.timestamp())
        return End.objects.exists()

    with worker("naps", "--lease=4s"):
        wait_for(note)

    apart = [later - earlier for earlier, later in pairwise(expiries)]
    assert len(apart) >= 3
    assert max(apart) <= 2


def stop_between_commits(program: Program) -> None:
    """Stop a process while it does not hold SQLite's lock, which nobody could take from it."""

    def stopped() -> bool:
        program.send(signal.SIGSTOP)
        try:
            with transaction.atomic():
                return True
        except OperationalError:
            program.send(signal.SIGCONT)
            return False

    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("pragma busy_timeout = 50")
    wait_for(stopped)
    connection.close()  # the next one waits as long as ever


def test_a_worker_that_slept_past_its_lease_settles_nothing() -> None:
    naps.add(Nap("a", seconds=4), id="a")

    with worker("naps", "--lease=1500ms") as first:
        wait_for(lambda: starts() == [1])
        stop_between_commits(first)
        with worker("naps", "--lease=1500ms") as second:
            wait_for(lambda: starts() == [1, 2])
            time.sleep(1)  # the first one's nap must be over before the second one's
            first.send(signal.SIGCONT)
            first.wait_for_line("id=a", "no longer this worker's")
            second.wait_for_line("id=a attempt=2 done")
            second.send(signal.SIGTERM)
            assert second.wait() == 0
        naps.add(Nap("b"), id="b")
        first.wait_for_line("id=b attempt=1 done")

    assert first.said("id=a", "done") == []
    assert len(second.said("id=a", "done")) == 1
    assert sorted(ends()[:2]) == [1, 2]
    assert not Row.objects.exists()
