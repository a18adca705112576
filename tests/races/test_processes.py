"""--processes: children that die, a parent that stops them, a parent that dies."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

import pytest

from tests.programs import wait_for, worker
from tests.project.jobs import Nap, naps
from tests.project.models import End, Start
from tinystore_django.models import Job as Row
from tinystore_django.models import Lease

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KILLS = 10


def children() -> list[int]:
    """The worker processes that are alive, by their leases."""
    pids = {int(name.rpartition(":")[2]) for name in Lease.objects.values_list("name", flat=True)}
    return [pid for pid in sorted(pids) if alive(pid)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.once
def test_every_job_ends_though_one_child_after_the_other_is_killed() -> None:
    names = [f"{number:02}" for number in range(40)]
    for name in names:
        naps.add(Nap(name, seconds=0.3), id=name)
    randomly = random.Random(7)

    with worker("naps", "--processes=3", "--concurrency=2", "--lease=1500ms") as parent:
        wait_for(lambda: len(children()) == 3)
        killed: set[int] = set()
        while len(killed) < KILLS:
            killed.add(pid := randomly.choice(wait_for(lambda: sorted(set(children()) - killed))))
            os.kill(pid, signal.SIGKILL)
            time.sleep(randomly.uniform(0.2, 0.8))
        wait_for(lambda: not Row.objects.exists(), 60)
        parent.send(signal.SIGTERM)
        assert parent.wait() == 0

    assert sorted({end.name for end in End.objects.all()}) == names
    assert len(parent.said("worker process", "ended with -9")) == KILLS


@pytest.mark.once
def test_a_parent_that_is_asked_to_stop_stops_its_children_after_their_jobs() -> None:
    for name in "abcdef":
        naps.add(Nap(name, seconds=2))

    with worker("naps", "--processes=3") as parent:
        wait_for(lambda: Start.objects.count() == 3)
        pids = children()
        parent.send(signal.SIGTERM)
        assert parent.wait() == 0

    assert len(pids) == 3
    assert [pid for pid in pids if alive(pid)] == []
    assert (Start.objects.count(), End.objects.count(), Row.objects.filter(state=0, attempt=0).count()) == (3, 3, 3)
    assert parent.said("another starts") == []
    assert len(parent.said("runs naps")) == 1  # the children need not say it again
    assert set(Counter(start.process for start in Start.objects.all()).values()) == {1}


@pytest.mark.once
def test_children_end_their_jobs_and_stop_when_their_parent_dies() -> None:
    for name in "abcd":
        naps.add(Nap(name, seconds=2))

    with worker("naps", "--processes=2") as parent:
        wait_for(lambda: Start.objects.count() == 2)
        pids = children()
        parent.kill()
        wait_for(lambda: not any(map(alive, pids)))

    assert len(pids) == 2
    assert (Start.objects.count(), End.objects.count()) == (2, 2)
    assert not Lease.objects.exists()


def test_processes_that_run_until_idle_end_with_their_jobs() -> None:
    for number in range(20):
        naps.add(Nap(str(number)))

    with worker("naps", "--processes=2", "--until-idle") as parent:
        assert parent.wait() == 0

    assert End.objects.count() == 20
    assert not Row.objects.exists()


@pytest.mark.once
def test_a_second_signal_ends_the_children_at_once_too() -> None:
    for name in "abcd":
        naps.add(Nap(name, seconds=60))

    with worker("naps", "--processes=2") as parent:
        wait_for(lambda: Start.objects.count() == 2)
        pids = children()
        parent.send(signal.SIGTERM)
        time.sleep(0.5)
        assert all(map(alive, pids))
        parent.send(signal.SIGTERM)
        assert parent.wait() == 1
        wait_for(lambda: not any(map(alive, pids)), 10)

    assert len(pids) == 2
    assert not End.objects.exists()
