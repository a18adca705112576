"""How a worker's loop sleeps until its runs have ended."""

from __future__ import annotations

import random
import threading
import time
from typing import Any, cast

import pytest

from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.worker.ends import INSTANT, QUICK, Ends
from tinystore_django.worker.execution import Ended, Task

pytestmark = pytest.mark.once

LONG = 60.0  # seconds: to sleep so long is to miss what should have ended it


def ended(seconds: float = QUICK / 2) -> Ended:
    return Ended(cast(Task, None), Ending("done"), seconds)


def begun(count: int, quick: bool) -> Ends:
    """So many runs at work, after one that was quick or was not."""
    ends = Ends()
    ends.judge([ended(QUICK / 2 if quick else QUICK * 2)])
    ends.begin(count)
    return ends


def sleep(ends: Ends) -> None:
    """As the loop does it."""
    ends.gather()
    ends.sleep(LONG)


def taken(ends: Ends, count: int) -> float:
    """Sleeps until so many were taken; how long the last sleep took, in seconds."""
    while count:
        began = time.monotonic()
        sleep(ends)
        count -= len(ends.take())
    return time.monotonic() - began


@pytest.mark.parametrize("quick", [False, True])
def test_what_has_ended_already_ends_the_sleep(quick: bool) -> None:
    ends = begun(2, quick)
    ends.note(ended())
    ends.note(ended())

    sleep(ends)

    assert len(ends.take()) == 2
    assert not ends


def test_the_first_of_slow_runs_ends_the_sleep() -> None:
    ends = begun(2, quick=False)
    ends.note(ended())

    sleep(ends)

    assert len(ends.take()) == 1


def test_a_slow_run_beside_quick_ones_keeps_nobody_waiting() -> None:
    ends = begun(3, quick=True)
    ends.note(ended())
    ends.note(ended())

    assert taken(ends, 2) < LONG / 2


def test_a_run_that_ends_late_after_quick_ones_ends_the_sleep() -> None:
    ends = begun(1, quick=True)
    slept = threading.Timer(0.05, ends.note, [ended()])
    slept.start()

    assert taken(ends, 1) < LONG / 2


def test_the_loop_can_be_woken_though_no_run_has_ended() -> None:
    ends = begun(1, quick=True)
    ends.wake.set()

    began = time.monotonic()
    sleep(ends)

    assert time.monotonic() - began < LONG / 2
    assert not ends


def test_no_end_is_missed_whenever_it_comes() -> None:
    ends = Ends()
    chance = random.Random(1)

    for _ in range(300):
        count = chance.randrange(1, 5)
        ends.begin(count)
        threads = [threading.Timer(chance.choice([0, 0.0003, 0.0006]), ends.note, [ended()]) for _ in range(count)]
        for thread in threads:
            thread.start()
        assert taken(ends, count) < LONG / 2
        ends.judge([ended()])


def test_runs_are_judged_by_the_slowest_of_the_last() -> None:
    ends = Ends()

    ends.judge([ended(), ended(QUICK * 2)])
    assert not ends._quick
    ends.judge([ended(), ended()])
    assert ends._quick
    ends.judge(cast(Any, []))
    assert not ends._quick


def test_runs_are_instant_after_such_alone() -> None:
    ends = Ends()
    judged = []
    for seconds in ([], [INSTANT / 2, INSTANT / 3], [INSTANT / 2, INSTANT * 2], [INSTANT / 2], []):
        ends.judge([ended(one) for one in seconds])
        judged.append(ends.instant)

    assert judged == [False, True, False, True, False]
