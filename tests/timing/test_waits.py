"""No wait is longer than the system can wait at once."""

from __future__ import annotations

import threading

import pytest

from tinystore_django.timing.waits import LONGEST, bounded


@pytest.mark.parametrize("seconds", [1e9, 1e15, float("inf")])
def test_a_long_wait_is_cut(seconds: float) -> None:
    assert bounded(seconds) == LONGEST < threading.TIMEOUT_MAX


def test_a_short_one_is_left_and_a_past_one_is_none() -> None:
    assert (bounded(0.5), bounded(-1.0)) == (0.5, 0.0)
