"""The threads of sync handlers."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from tests.programs import wait_for
from tinystore_django.worker.connections import Care
from tinystore_django.worker.pool import Pool

pytestmark = [pytest.mark.once, pytest.mark.django_db]

DEADLINE = 30.0


def together(pool: Pool, count: int) -> None:
    """So many calls, each of which waits for all the others."""
    barrier = threading.Barrier(count + 1)
    for _ in range(count):
        pool.start(lambda care: barrier.wait(DEADLINE))
    barrier.wait(DEADLINE)


def one_by_one(pool: Pool, count: int) -> set[int]:
    """So many quick calls, each given once the last has ended; the threads that they ran in."""
    threads: SimpleQueue[int] = SimpleQueue()
    ran = set()
    for _ in range(count):
        pool.start(lambda care: threads.put(threading.get_ident()))
        ran.add(threads.get(timeout=DEADLINE))
    return ran


def test_calls_that_wait_for_each_other_all_run_at_once() -> None:
    pool = Pool()

    together(pool, 60)
    together(pool, 60)

    assert pool._threads == 60
    pool.stop()


def test_calls_that_wait_run_at_once_after_quick_ones_too() -> None:
    pool = Pool()

    for _ in range(20):
        one_by_one(pool, 20)
        together(pool, 3)

    pool.stop()


def test_a_quick_call_after_another_needs_no_further_thread() -> None:
    pool = Pool()

    assert len(one_by_one(pool, 200)) <= 2
    assert pool._threads <= 2
    pool.stop()


def test_calls_given_by_several_threads_all_run() -> None:
    pool = Pool()
    ran: SimpleQueue[int] = SimpleQueue()
    givers = [
        threading.Thread(target=lambda: [pool.start(lambda care: ran.put(1)) for _ in range(500)]) for _ in range(4)
    ]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()

    assert sum(ran.get(timeout=DEADLINE) for _ in range(2_000)) == 2_000
    pool.stop()


def test_a_stopped_pool_ends_its_idle_threads_and_a_busy_one_after_its_call() -> None:
    pool = Pool()
    before = set(threading.enumerate())
    together(pool, 3)
    going, entered = threading.Event(), threading.Event()

    def call(care: Care) -> None:
        entered.set()
        going.wait(DEADLINE)

    pool.start(call)
    assert entered.wait(DEADLINE)

    def left() -> int:
        return len(set(threading.enumerate()) - before)

    pool.stop()
    wait_for(lambda: left() == 1)
    going.set()
    wait_for(lambda: left() == 0)
