"""A database that does not answer costs a worker a pause, longer each time, and a line a minute."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError

from tinystore_django.worker import patience
from tinystore_django.worker.patience import Patience

LOST = OperationalError("server closed the connection\n\tunexpectedly")


def test_pauses_double_from_a_tenth_of_a_second_to_half_a_minute() -> None:
    waiting = Patience("default")

    pauses = [waiting.lost(LOST) for _ in range(12)]

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]


def test_once_it_is_well_the_next_pause_is_short_again() -> None:
    waiting = Patience("default")
    waiting.lost(LOST)
    waiting.lost(LOST)

    waiting.well()

    assert waiting.lost(LOST) == 0.1


def test_it_is_said_once_a_minute_in_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1000.0, 1000.0, 1001.0, 1059.9, 1060.0, 1060.0])  # read twice where it is said
    monkeypatch.setattr(patience.time, "monotonic", lambda: next(times))
    waiting = Patience("default")
    for _ in range(4):
        waiting.lost(LOST)

    line = "database 'default': server closed the connection; going on as soon as it answers"
    assert caplog.messages == [line, line]


def test_each_thread_of_a_worker_has_pauses_of_its_own() -> None:
    waiting = Patience("default")
    waiting.lost(LOST)
    pauses: list[float] = []

    thread = threading.Thread(target=lambda: pauses.append(waiting.lost(LOST)))
    thread.start()
    thread.join()

    assert pauses == [0.1]
