"""The threads of sync handlers: each call has one at once, also where the system has no more of them for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest

from tests.programs import wait_for
from tinystore_django.worker.connections import Care
from tinystore_django.worker.pool import Pool

pytestmark = [pytest.mark.once, pytest.mark.django_db]

DEADLINE = 30.0
NO_MORE = "can't start new thread"


class Refused(threading.Thread):
    def start(self) -> None:
        raise RuntimeError(NO_MORE)


@contextmanager
def no_more_threads() -> Iterator[None]:
    """The system refuses each further thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "Thread", Refused)
        yield


def together(pool: Pool, count: int) -> None:
    """So many calls, each of which waits for all the others."""
    barrier = threading.Barrier(count + 1)
    for _ in range(count):
        pool.start([lambda care: barrier.wait(DEADLINE)])
    barrier.wait(DEADLINE)


def one_by_one(pool: Pool, count: int) -> set[int]:
    """So many quick calls, each given once the last has ended; the threads that they ran in."""
    threads: SimpleQueue[int] = SimpleQueue()
    ran = set()
    for _ in range(count):
        pool.start([lambda care: threads.put(threading.get_ident())])
        ran.add(threads.get(timeout=DEADLINE))
    return ran


def test_calls_that_wait_for_each_other_all_run_at_once() -> None:
    pool = Pool()

    together(pool, 60)
    wait_for(lambda: len(pool._idle) == 60)
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


def test_calls_that_follow_one_another_are_all_run_by_one_thread() -> None:
    pool, threads = Pool(), SimpleQueue[int]()
    together(pool, 3)
    wait_for(lambda: len(pool._idle) == 3)

    pool.start([lambda care: threads.put(threading.get_ident())] * 20, one_by_one=True)

    assert len({threads.get(timeout=DEADLINE) for _ in range(20)}) == 1
    pool.stop()


@pytest.mark.parametrize("idle", [0, 5])
def test_calls_that_were_to_follow_one_another_run_at_once_after_all(idle: int) -> None:
    pool, barrier = Pool(), threading.Barrier(6)
    if idle:
        together(pool, idle)
        wait_for(lambda: len(pool._idle) == idle)

    pool.start([lambda care: barrier.wait(DEADLINE)] * 5, one_by_one=True)
    wait_for(lambda: len(pool._calls) == 4)
    pool.spread()

    barrier.wait(DEADLINE)
    together(pool, 3)  # and so do the next, unless they are told to
    pool.stop()


def test_calls_given_by_several_threads_all_run() -> None:
    pool = Pool()
    ran: SimpleQueue[int] = SimpleQueue()
    givers = [
        threading.Thread(target=lambda: [pool.start([lambda care: ran.put(1)]) for _ in range(500)]) for _ in range(4)
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

    pool.start([call])
    assert entered.wait(DEADLINE)

    def left() -> int:
        return len(set(threading.enumerate()) - before)

    pool.stop()
    wait_for(lambda: left() == 1)
    going.set()
    wait_for(lambda: left() == 0)


def test_without_a_thread_a_call_is_refused_and_the_next_one_runs() -> None:
    pool, ran = Pool(), list[int]()

    with no_more_threads(), pytest.raises(RuntimeError, match=NO_MORE):
        pool.start([lambda care: ran.append(1)])
    pool.start([lambda care: ran.append(2)])

    wait_for(lambda: ran == [2])
    pool.stop()


def test_where_no_thread_can_be_added_those_there_are_run_all_calls() -> None:
    pool, ran = Pool(), list[int]()
    began, goes_on = threading.Event(), threading.Event()
    pool.start([lambda care: (began.set(), goes_on.wait(DEADLINE))])
    assert began.wait(DEADLINE)

    with no_more_threads():
        for number in range(3):
            pool.start([lambda care, number=number: ran.append(number)])
        goes_on.set()
        wait_for(lambda: ran == [0, 1, 2])

    together(pool, 3)
    pool.stop()
