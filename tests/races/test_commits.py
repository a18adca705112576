"""Transactions that commit late, or whose process dies on the way."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from tests.programs import script, wait_for, worker
from tests.project.jobs import marks
from tests.project.models import Mark, Order
from tinystore_django.models import Job as Row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ROUNDS = 48

# Each child saves orders with their jobs until it is killed, at a moment of which it knows nothing.
DYING_ADDERS = """
import os, random, signal, time
from itertools import count
from django.db import transaction
from tests.project.jobs import marks
from tests.project.models import Order

def add(child, told):
    for number in count():
        name = f"{child}-{number}"
        with transaction.atomic():
            Order.objects.create(email=name)
            marks.add(name, id=name)
        os.write(told, b".")

for child in range(40):
    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        add(child, told)
    os.read(heard, 1)
    time.sleep(random.uniform(0.0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(heard)
    os.close(told)
"""

DEAD_BEFORE_ITS_COMMIT = """
import os, signal
from django.db import transaction
from tests.project.jobs import marks
from tests.project.models import Order

with transaction.atomic():
    Order.objects.create(email="a")
    print(marks.add("a", id="a"), marks.get("a").state, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.postgresql  # SQLite has one writer: nobody commits before an earlier transaction that is still open
def test_a_row_that_commits_late_with_a_lower_id_is_not_passed_over() -> None:
    committed: dict[str, float] = {}

    def round(number: int) -> None:
        inserted, over = threading.Event(), threading.Event()
        with ThreadPoolExecutor(1) as other:
            other.submit(add_late, number, inserted, over)
            with transaction.atomic():
                marks.add(f"early-{number}")
                inserted.set()
                assert over.wait(20)
                time.sleep(random.Random(number).uniform(0, 0.3))
            committed[f"early-{number}"] = time.time()
        connection.close()

    with worker("marks", "--concurrency=2") as one, worker("marks", "--concurrency=2") as another:
        one.wait_for_line("runs marks")
        another.wait_for_line("runs marks")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(round, range(ROUNDS)))
        wait_for(lambda: Mark.objects.count() >= 2 * ROUNDS and not Row.objects.exists())

    ran = {mark.name: mark.at for mark in Mark.objects.all()}
    assert Mark.objects.count() == len(ran) == 2 * ROUNDS
    assert max(ran[name] - at for name, at in committed.items()) < 1.5 + 2


def add_late(number: int, inserted: threading.Event, over: threading.Event) -> None:
    assert inserted.wait(20)
    marks.add(f"late-{number}")
    over.set()
    connection.close()


def test_rows_and_jobs_agree_however_their_adder_dies() -> None:
    with script(DYING_ADDERS) as program:
        assert program.wait(60) == 0, program.text

    def both() -> tuple[set[str], set[str]]:
        return set(Order.objects.values_list("email", flat=True)), set(Row.objects.values_list("key", flat=True))

    # The server may still be at work on what a dead client sent.
    wait_for(lambda: both()[0] == both()[1], 10, both)
    assert Order.objects.count() > 40
    assert Row.objects.count() == Order.objects.count()


def test_a_job_whose_process_dies_before_the_commit_was_never_added() -> None:
    with script(DEAD_BEFORE_ITS_COMMIT) as program:
        assert program.wait() == -9

    assert program.lines == ["True waiting"]
    assert not Order.objects.exists()
    assert marks.get("a") is None
    assert marks.add("a", id="a")
