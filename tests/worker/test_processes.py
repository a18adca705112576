"""The parent of --processes: which of its children are replaced, and by what it knows one that hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import autoreload

from tinystore_django.management.commands import tinystore_work
from tinystore_django.worker import processes
from tinystore_django.worker.processes import PARENT, Processes
from tinystore_django.worker.shutdown import Shutdown

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


def test_a_child_that_cannot_be_started_again_now_is_so_later(
    run: Callable[..., tuple[int, int]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start, tries = subprocess.Popen, []

    def refuse_the_second(*arguments: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) == 2:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return start(*arguments, **options)

    monkeypatch.setattr("tinystore_django.worker.processes.subprocess.Popen", refuse_the_second)

    assert run("os._exit(3)") == (0, 2)
    assert len(tries) == 3
    assert "cannot be started" in caplog.text


def test_the_exit_code_of_a_child_is_its_own_though_one_before_it_was_killed(
    run: Callable[..., tuple[int, int]], tmp_path: Path
) -> None:
    does = "os.kill(os.getpid(), signal.SIGSTOP)"
    fails = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7)); (turns.parent / 'ready').touch(); time.sleep(20)"

    code = run(f"{does}\nelse:\n    {fails}", asks=(tmp_path / "ready").exists, grace=5.0)

    assert code == (1, 2)


def test_a_child_whose_parent_died_does_not_wait_for_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_parent", "1" if os.getppid() != 1 else "2")

    assert tinystore_work._is_to_end(Shutdown(), 0.0)


def test_what_a_child_starts_is_no_child_of_its_parent() -> None:
    """A worker command that a handler starts would take its own parent for dead, and end with 0 without any work."""
    of_child = (
        f"import os; from tinystore_django.worker import processes as p; print(p.is_child(), {PARENT!r} in os.environ)"
    )

    done = subprocess.run(
        [sys.executable, "-c", of_child], env={**os.environ, PARENT: "1"}, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["True", "False"]
