"""Runs past their timeout are told so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.byhand import NOON, us
from tinystore_django.control import Control
from tinystore_django.databases.rows import Held
from tinystore_django.worker.watch import Watch

LONG = 60_000_000
DEADLINE = 20.0


def control(key: str = "x", is_async: bool = False) -> tuple[Control, threading.Event]:
    """A run, and what is set when it is told to stop."""
    told = threading.Event()
    held = Held(1, 1, 1, "emails", key, "1", us(NOON), 1, None, None, us(NOON))
    return Control("default", held, is_async, on_stop=told.set), told


@contextmanager
def over(watch: Watch, run: Control, timeout: int) -> Iterator[None]:
    """A run in this thread."""
    watch.begin(run, timeout)
    try:
        yield
    finally:
        watch.end(run)


def test_a_run_past_its_timeout_is_told_and_its_stack_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    run, told = control()

    with over(Watch(), run, 20_000):
        a_line_of_the_handler(told.wait)

    assert run.why == "timeout"
    assert [message.split("\n")[0] for message in caplog.messages] == [
        "emails id=x attempt=1 passed its timeout; its thread is at"
    ]
    assert "a_line_of_the_handler" in caplog.text


def a_line_of_the_handler(wait: Callable[[float], Any]) -> None:
    assert wait(DEADLINE)


def test_an_async_run_is_told_without_a_stack(caplog: pytest.LogCaptureFixture) -> None:
    run, told = control(is_async=True)

    with over(Watch(), run, 20_000):
        assert told.wait(DEADLINE)

    assert caplog.messages == []


def test_a_run_that_ended_in_time_is_left_alone() -> None:
    watch = Watch()
    quick, told_quick = control("quick")
    slow, told_slow = control("slow")

    with over(watch, quick, 50_000):
        pass
    with over(watch, slow, 200_000):
        assert told_slow.wait(DEADLINE)

    assert (quick.why, told_quick.is_set()) == (None, False)


def test_a_shorter_timeout_that_began_later_is_told_first() -> None:
    watch = Watch()
    long, _ = control("long")
    short, told = control("short")

    with over(watch, long, LONG), over(watch, short, 20_000):
        assert told.wait(DEADLINE)

    assert (long.why, short.why) == (None, "timeout")


def test_one_thread_watches_all_runs() -> None:
    watch = Watch()
    runs = [control(str(number)) for number in range(5)]

    for run, told in runs:
        with over(watch, run, 10_000):
            assert told.wait(DEADLINE)

    watchers = [thread for thread in threading.enumerate() if thread is watch._thread]
    assert len(watchers) == 1


def test_a_timeout_of_ages_costs_the_other_runs_nothing() -> None:
    watch = Watch()
    endless, _ = control("endless")
    short, told = control("short")

    with over(watch, endless, 10**20):
        thread = watch._thread
        with over(watch, short, 20_000):
            assert told.wait(DEADLINE)

    assert (endless.why, short.why) == (None, "timeout")
    assert thread is not None
    assert thread.is_alive()
