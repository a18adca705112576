"""Limits while everything goes wrong: workers die and stall, jobs fail, adders cancel and keep transactions open.

TINYSTORE_TEST_ORACLE_SECONDS says for how long, for a run longer than the suite's.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction

from tests.programs import Program, other_settings, wait_for, worker
from tests.project.jobs_limits import UNSURE
from tests.races.helpers import together
from tests.races.oracle import counted, faults, noted
from tinystore_django.models import Job as Row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SECONDS = float(os.environ.get("TINYSTORE_TEST_ORACLE_SECONDS", "8"))
PROCESSES = 4
# Jobs that wait at most: enough for every limit to be reached at all times.
BACKLOG = 300
LEASE = 1.0
FLAGS = (*(queue.name for queue in UNSURE), "--concurrency=5", f"--lease={LEASE * 1000:.0f}ms", "--poll=200ms")


def test_no_limit_is_passed_and_no_job_left_while_workers_die_and_stall(tmp_path: Path) -> None:
    seed = int(time.time())
    print(f"seed {seed}")
    with noted(), ExitStack() as stack:
        for queue in UNSURE:
            queue.add_many([10] * (BACKLOG // 5), group=lambda _: random.choice("abc"), id=lambda _: uuid4().hex)
        builds: Any = other_settings(tmp_path, "builds", "BUILDS_ON_COUNTS = True")
        starts = [partial(worker, *FLAGS), partial(worker, *FLAGS, **builds)] * (PROCESSES // 2)
        workers = [stack.enter_context(start()) for start in starts]
        until = time.monotonic() + SECONDS
        adders = [together(partial(add, f"{number}-", random.Random(seed + number), until)) for number in (1, 2)]
        with adders[0], adders[1]:
            disturb(workers, starts, stack, random.Random(seed), until)
        wait_for(lambda: not Row.objects.exists(), 120, lambda: f"left: {list(Row.objects.values()[:5])}")
        for one in workers:
            one.wait_for_line("runs")
            one.send(signal.SIGTERM)
        assert [one.wait() for one in workers] == [0] * PROCESSES

        happened = {queue.name: counted(queue) for queue in UNSURE}
        print(happened)
        assert {queue.name: faults(queue) for queue in UNSURE} == {queue.name: [] for queue in UNSURE}
        assert all(count["running"] > count["ended"] > SECONDS for count in happened.values())
        assert [one.said("Traceback") + one.said("deadlock") for one in workers] == [[]] * PROCESSES


def disturb(
    workers: list[Program],
    starts: Sequence[Callable[[], Program]],
    stack: ExitStack,
    randomly: random.Random,
    until: float,
) -> None:
    """Kills a worker and starts another, or stops one until its lease is long over, again and again."""
    while time.monotonic() < until:
        time.sleep(randomly.uniform(0.3, 1.2))
        place = randomly.randrange(PROCESSES)
        workers[place].wait_for_line("runs", seconds=60)  # or on a busy machine none would ever come to anything
        if randomly.random() < 0.5:
            workers[place].kill()
            workers[place] = stack.enter_context(starts[place]())
        else:
            workers[place].send(signal.SIGSTOP)
            time.sleep(LEASE * 1.5)
            workers[place].send(signal.SIGCONT)


def add(prefix: str, randomly: random.Random, until: float) -> None:
    """Adds jobs to every queue, in transactions that stay open for a while, and moves or cancels some."""
    number = 0
    while time.monotonic() < until:
        wait_for(lambda: Row.objects.count() < BACKLOG, 120)
        with transaction.atomic():
            for _ in range(randomly.randint(1, 30)):
                number += 1
                _add_one(f"{prefix}{number}", randomly)
            if number > 60 and randomly.random() < 0.5:
                _change_one(f"{prefix}{randomly.randint(number - 60, number)}", randomly)
            time.sleep(randomly.choice([0, 0, 0.01, 0.05]))


def _add_one(id: str, randomly: random.Random) -> None:
    queue = randomly.choice(UNSURE)
    group = randomly.choice([None, "a", "a", "b", "c"])
    queue.add(randomly.randint(0, 30), id=id, group=group, delay=randomly.choice(["0s", "0s", "300ms"]))


def _change_one(id: str, randomly: random.Random) -> None:
    for queue in UNSURE:
        if randomly.random() < 0.5:
            queue.cancel(id)
        else:
            queue.update(id, 1, delay="100ms", group=randomly.choice(["a", "b"]))
