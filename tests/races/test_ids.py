"""Calls that meet on one id: whoever says True is right, and no change is lost or doubled."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.db import connections, transaction

from tests.byhand import Hand
from tests.programs import script, wait_for, worker
from tests.project.jobs import Nap, last_chances, naps, stumbles
from tests.project.models import Order, Start
from tests.races.helpers import waits_for_a_lock
from tinystore_django import LimitError, Queue, Run, Store, models
from tinystore_django.databases import database
from tinystore_django.databases.rows import Held
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.settling import Finished, settle

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ROUNDS = 500
IDS = 60
ADDERS = 8


class Race:
    """Two threads, each with a connection of its own, that start what they are given at the same instant."""

    def __init__(self) -> None:
        self._threads = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
        self._start = Barrier(2)

    def run(self, *calls: Callable[[], Any]) -> list[Any]:
        """What each gave. One of them, at random, starts up to two milliseconds late."""
        waits = random.sample([0.0, random.uniform(0, 0.002)], 2)
        pairs = zip(self._threads, calls, waits, strict=True)
        futures = [thread.submit(self._call, call, wait) for thread, call, wait in pairs]
        return [future.result() for future in futures]

    def close(self) -> None:
        for thread in self._threads:
            thread.submit(connections.close_all).result()
            thread.shutdown()

    def _call(self, call: Callable[[], Any], wait: float) -> Any:
        self._start.wait()
        time.sleep(wait)
        return call()


@pytest.fixture
def race() -> Iterator[Race]:
    made = Race()
    yield made
    made.close()


@pytest.fixture
def lease() -> Hand:
    """A worker by hand, by the real clock."""
    return Hand()


@pytest.fixture
def queue(shop: Store) -> Queue[Any]:
    return shop.queue("raced", attempts=3)


def end(queue: Queue[Any], held: Held, ending: Ending) -> None:
    """Settles a run as a worker does: again, until no user's open transaction holds its row."""
    left = [Finished(held, ending, queue._declaration.options)]
    while left:
        with database("default").own_transaction():
            left = list(settle("default", left).left)


def run_all(queue: Queue[Any], lease: Hand) -> list[str]:
    """Runs whatever is due, and gives the values in turn."""
    ran = []
    while held := lease.take(queue):
        ran += [one.value for one in held]
        for one in held:
            end(queue, one, Ending("done"))
    return ran


# Add against add.

ADDER = """
import sys
import time
from pathlib import Path
from django.db import transaction
from tests.project.jobs import unhandled
from tests.project.models import Order

def add(name):
    with transaction.atomic():
        Order.objects.create(email=name)
        added = unhandled.add(name, id=name)
        Order.objects.create(email=name)
    return added

print("ready", flush=True)
while not Path({go!r}).exists():
    time.sleep(0.001)
for number in range({ids}):
    if add(f"atomic-{{number}}"):
        print(f"added atomic-{{number}}")
    if unhandled.add("alone", id=f"alone-{{number}}"):
        print(f"added alone-{{number}}")
"""


def test_of_eight_processes_that_add_an_id_at_once_one_says_true(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with ExitStack() as stack:
        code = ADDER.format(go=str(go), ids=IDS)
        adders = [stack.enter_context(script(code)) for _ in range(ADDERS)]
        for adder in adders:
            adder.wait_for_line("ready")
        go.touch()
        for adder in adders:
            assert adder.wait(60) == 0, adder.text

    said = Counter(line for adder in adders for line in adder.said("added"))
    assert said == Counter(f"added {how}-{number}" for how in ("atomic", "alone") for number in range(IDS))
    assert models.Job.objects.count() == 2 * IDS
    assert Order.objects.count() == 2 * ADDERS * IDS
    assert min(len(adder.said("added")) for adder in adders) < IDS  # more than one of them had its part


def test_of_two_that_add_an_id_whose_keep_has_just_passed_one_says_true(shop: Store, race: Race, lease: Hand) -> None:
    queue = shop.queue("raced", dedupe="1ms")
    for _ in range(100):
        queue.add("old", id="x")
        end(queue, lease.take_one(queue), Ending("done"))
        wait_for(lambda: queue.get("x") is None)

        said = race.run(lambda: queue.add("a", id="x"), lambda: queue.add_many(["b"], id=lambda value: "x"))

        assert sorted(map(bool, said)) == [False, True]
        assert run_all(queue, lease) == ['"a"' if said[0] else '"b"']
        wait_for(lambda: queue.get("x") is None)


# Update, set and cancel against a worker.


def test_an_update_that_says_true_is_what_runs(queue: Queue[Any], race: Race, lease: Hand) -> None:
    said = Counter[bool]()
    for _ in range(ROUNDS):
        queue.add("old", id="x")

        updated, held = race.run(lambda: queue.update("x", "new"), lambda: lease.take(queue))
        for one in held:
            end(queue, one, Ending("done"))
        ran = [one.value for one in held] + run_all(queue, lease)

        assert ran == ['"new"' if updated else '"old"']
        said[updated] += 1
    assert set(said) == {True, False}


ENDINGS = [
    Ending("done"),
    Ending("retry", "no luck", delay=0),
    Ending("snoozed", delay=0),
    Ending("failed", "no luck"),
    Ending("lost", "the worker was lost"),
]


def test_a_set_while_a_run_ends_is_one_run_more(queue: Queue[Any], race: Race, lease: Hand) -> None:
    for number in range(ROUNDS):
        queue.set("x", "first")
        held = lease.take_one(queue)
        ending = ENDINGS[number % len(ENDINGS)]

        race.run(lambda: queue.set("x", "second"), partial(end, queue, held, ending))

        assert run_all(queue, lease) == ['"second"'], ending
        assert queue.get("x") is None


def test_a_job_whose_cancel_says_true_never_runs_or_its_run_is_told_to_stop(
    queue: Queue[Any], race: Race, lease: Hand
) -> None:
    started = Counter[int]()
    for _ in range(ROUNDS):
        queue.add("old", id="x")

        cancelled, held = race.run(lambda: queue.cancel("x"), lambda: lease.take(queue))

        assert cancelled is True
        assert queue.get("x") is None
        assert leasing.cancelled("default", [one.fence for one in held]) == {one.fence for one in held}
        for one in held:
            end(queue, one, Ending("retry", "no luck", delay=0))
        assert run_all(queue, lease) == []
        assert not models.Job.objects.exists()
        started[len(held)] += 1
    assert set(started) == {0, 1}


def test_a_job_cancelled_while_its_run_ends_does_not_come_back(queue: Queue[Any], race: Race, lease: Hand) -> None:
    for number in range(ROUNDS // 2):
        queue.add("old", id="x")
        held = lease.take_one(queue)
        ending = ENDINGS[number % len(ENDINGS)]

        cancelled, _ = race.run(lambda: queue.cancel("x"), partial(end, queue, held, ending))

        assert cancelled or ending.kind == "done"
        assert run_all(queue, lease) == []
        assert not models.Job.objects.exists()


def test_of_two_sets_at_once_one_stays_whole(queue: Queue[Any], race: Race, lease: Hand) -> None:
    for _ in range(ROUNDS // 5):
        race.run(lambda: queue.set("x", "a", group="a"), lambda: queue.set("x", "b", group="b"))

        (row,) = models.Job.objects.all()
        assert (row.value, row.group) in {('"a"', "a"), ('"b"', "b")}
        queue.cancel("x")


# Add, set and update while a worker runs the job.


def change_while_running(queue: Queue[Nap]) -> float:
    """Once the job has started; the time from which its one run more may start."""
    wait_for(lambda: names() == ["v1"])
    assert queue.add(Nap("v2"), id="u") is False
    assert queue.update("u", Nap("v3")) is False
    queue.set("u", Nap("v4"))
    asked = time.time()
    queue.set("u", Nap("v5"), delay="2s")
    return asked + 2


def names() -> list[str]:
    return [start.name for start in Start.objects.order_by("id")]


def check_one_run_more(queue: Queue[Nap], due: float) -> None:
    wait_for(lambda: queue.get("u") is None)
    time.sleep(0.3)  # for a second one to show itself
    assert names() == ["v1", "v5"]
    assert Start.objects.get(name="v5").at >= due
    assert Start.objects.get(name="v5").attempt == 1
    assert not models.Job.objects.exists()


def test_set_while_a_job_runs_is_one_run_more_not_before_its_time() -> None:
    naps.add(Nap("v1", seconds=3), id="u")

    with worker("naps"):
        due = change_while_running(naps)
        check_one_run_more(naps, due)


def test_set_while_a_jobs_only_attempt_fails_is_one_run_more(shop: Store) -> None:
    falls = shop.queue("falls", Nap, attempts=1)
    falls.add(Nap("v1", seconds=1), id="u")

    def fall(nap: Nap, run: Run) -> None:
        Start.objects.create(name=nap.name, attempt=run.attempt)
        time.sleep(nap.seconds)
        if nap.name == "v1":
            raise ValueError("no luck")

    with falls.work(fall):
        due = change_while_running(falls)
        wait_for(lambda: falls.get("u").state == "scheduled")  # type: ignore[union-attr]
        between = falls.get("u")
        check_one_run_more(falls, due)

    assert between is not None
    assert (between.value, between.error, between.attempt) == (Nap("v5"), "no luck", 0)


@pytest.mark.parametrize("queue", [stumbles, last_chances], ids=["attempts left", "last attempt"])
def test_set_before_a_jobs_worker_is_killed_is_one_run_more(queue: Queue[Nap]) -> None:
    queue.add(Nap("v1", seconds=60), id="u")

    with worker(queue.name, "--lease=1500ms") as first:
        due = change_while_running(queue)
        first.kill()
    with worker(queue.name, "--lease=1500ms"):
        check_one_run_more(queue, due)


def test_of_two_that_add_the_same_ids_in_opposite_orders_neither_fails(shop: Store) -> None:
    queue = shop.queue("many")
    keys = [f"k{number}" for number in range(2_000)]
    together = Barrier(2)

    def add(order: list[str]) -> list[int]:
        try:
            return [_add_together(queue, [f"{round}-{key}" for key in order], together) for round in range(4)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(add, [keys, keys[::-1]])

    assert [sum(added) for added in zip(one, other, strict=True)] == [2_000] * 4


def _add_together(queue: Queue[Any], ids: list[str], together: Barrier) -> int:
    together.wait(30)
    return queue.add_many(ids, id=lambda value: value)


@pytest.mark.parametrize("call", ["add", "add_many", "set"])
def test_the_threads_of_one_process_fill_a_bounded_queue_to_its_bound_and_no_further(call: str) -> None:
    most, rounds = 10, 15
    queue = Store().queue("bounded", int, max_waiting=most)
    start = Barrier(ADDERS)
    calls: dict[str, Callable[[int], object]] = {
        "add": queue.add,
        "add_many": lambda number: queue.add_many([number]),
        "set": lambda number: queue.set(f"id-{number}", number),
    }

    def add(number: int) -> bool:
        start.wait(20)
        try:
            calls[call](number)
        except LimitError:
            return False
        return True

    with ThreadPoolExecutor(ADDERS) as threads:
        for _ in range(rounds):
            added = [*threads.map(add, range(ADDERS)), *threads.map(add, range(ADDERS, 2 * ADDERS))]
            assert (sum(added), models.Job.objects.count()) == (most, most)
            models.Job.objects.all().delete()
        list(threads.map(lambda _: (start.wait(20), connections.close_all()), range(ADDERS)))


@pytest.mark.postgresql  # SQLite has one writer
def test_an_add_that_waits_for_an_open_transaction_does_not_hold_up_others_of_a_bounded_queue() -> None:
    queue = Store().queue("bounded", int, max_waiting=10)

    with ThreadPoolExecutor(2) as threads:
        with transaction.atomic():
            queue.add(1, id="x")
            stuck = threads.submit(queue.add, 2, id="x")
            wait_for(waits_for_a_lock)
            assert threads.submit(queue.add, 3).result(20)
            assert not stuck.done()
        assert stuck.result(20) is False
        both = Barrier(2)
        list(threads.map(lambda _: (both.wait(20), connections.close_all()), range(2)))
