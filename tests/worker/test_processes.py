"""The parent of --processes: which of its children are replaced, and by what it knows one that hangs."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import autoreload

from tinystore_django.worker.processes import Processes

pytestmark = [pytest.mark.once, pytest.mark.slow]

CHILD = """
import os, signal, sys, time
from pathlib import Path
from tinystore_django.worker.pulse import Pulse
turns = Path({turns!r})
pulse = Pulse().begin()
with turns.open("a") as file:
    file.write("x")
if turns.read_text() == "x":
    {does}
pulse.done()
"""
HOLDS_THE_LOCK = "9 ** 9 ** 9"
LEASE = 0.5


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, int]]:
    """Runs one child whose first turn does this; the exit code, and how many turns there were."""

    def run(does: str, asks: Callable[[], bool] = lambda: False, grace: float = 0.0) -> tuple[int, int]:
        turns = tmp_path / "turns"
        code = CHILD.format(turns=str(turns), does=does)
        monkeypatch.setattr(autoreload, "get_child_arguments", lambda: [sys.executable, "-c", code])
        processes = Processes(1, LEASE, grace)

        def is_asked(seconds: float) -> bool:
            time.sleep(seconds)
            return turns.exists() and turns.read_text() != "" and asks()

        try:
            return processes.run(is_asked), len(turns.read_text())
        finally:
            processes.signal(signal.SIGKILL)

    return run


@pytest.mark.parametrize(
    ("does", "turns"),
    [
        ("pass", 1),
        ("os._exit(0)", 2),
        ("os._exit(3)", 2),
        ("os.kill(os.getpid(), signal.SIGTERM)", 2),
        (HOLDS_THE_LOCK, 2),
        ("os.kill(os.getpid(), signal.SIGSTOP)", 2),
        ("time.sleep(2)", 1),
    ],
    ids=["told to end", "0", "3", "a signal", "a held lock", "stopped", "waits for a database"],
)
def test_a_child_that_ends_untold_or_hangs_is_replaced(
    does: str, turns: int, run: Callable[..., tuple[int, int]]
) -> None:
    assert run(does) == (0, turns)


def test_a_child_that_hangs_keeps_no_parent_that_is_to_stop(
    run: Callable[..., tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinystore_django.worker.processes.LAST", 0.5)

    assert run(HOLDS_THE_LOCK, asks=lambda: True) == (0, 1)
