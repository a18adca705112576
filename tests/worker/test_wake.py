"""What ends a loop's sleep."""

from __future__ import annotations

import threading
import time

from tinystore_django.worker.wake import LOOK_AGAIN, Wake

LONG = 60.0


def slept(wake: Wake, seconds: float) -> float:
    began = time.monotonic()
    wake.wait(seconds)
    return time.monotonic() - began


def test_it_sleeps_as_long_as_it_is_told() -> None:
    assert slept(Wake(), 0.05) >= 0.05


def test_what_was_set_while_awake_ends_the_next_sleep_at_once_and_only_that() -> None:
    wake = Wake()
    wake.set()

    assert slept(wake, LONG) < LONG
    assert slept(wake, 0.05) >= 0.05


def test_it_is_woken_by_another_thread() -> None:
    wake = Wake()
    threading.Timer(0.05, wake.set).start()

    assert slept(wake, LONG) < LONG


def test_a_notice_wakes_it_twice_for_what_the_same_notice_speaks_for() -> None:
    wake = Wake()
    wake.notice()

    first, second = slept(wake, LONG), slept(wake, LONG)

    assert first < LONG
    assert 0 < second < LONG
    assert slept(wake, 4 * LOOK_AGAIN) >= 4 * LOOK_AGAIN
