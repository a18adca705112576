"""Threads for sync handlers: each call has one at once, also where the system has no more of them for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.programs import wait_for
from tinystore_django.worker.pool import Pool

NO_MORE = "can't start new thread"


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.stop()


class Refused(threading.Thread):
    def start(self) -> None:
        raise RuntimeError(NO_MORE)


@contextmanager
def no_more_threads() -> Iterator[None]:
    """The system refuses each further thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "Thread", Refused)
        yield


def meet(pool: Pool, many: int) -> None:
    """Has so many calls wait for each other, and returns once they have met."""
    met = threading.Semaphore(0)
    all_in = threading.Barrier(many, action=lambda: met.release(many))
    for _ in range(many):
        pool.start(lambda care: all_in.wait(30))
    for _ in range(many):
        assert met.acquire(timeout=30)


def test_calls_that_wait_for_each_other_run_at_once(pool: Pool) -> None:
    meet(pool, 20)
    meet(pool, 30)


def test_without_a_thread_a_call_is_refused_and_the_next_one_runs(pool: Pool) -> None:
    ran: list[int] = []

    with no_more_threads(), pytest.raises(RuntimeError, match=NO_MORE):
        pool.start(lambda care: ran.append(1))
    pool.start(lambda care: ran.append(2))

    wait_for(lambda: ran == [2])


def test_where_no_thread_can_be_added_those_there_are_run_all_calls(pool: Pool) -> None:
    ran: list[int] = []
    began, goes_on = threading.Event(), threading.Event()
    pool.start(lambda care: (began.set(), goes_on.wait(30)))
    assert began.wait(30)

    with no_more_threads():
        for number in range(3):
            pool.start(lambda care, number=number: ran.append(number))
        goes_on.set()
        wait_for(lambda: ran == [0, 1, 2])

    meet(pool, 3)
