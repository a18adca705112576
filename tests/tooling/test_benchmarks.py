"""The benchmarks do not rot: the commands that no other test uses, at sizes that measure nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.once, pytest.mark.checkout]

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "latency": "--db sqlite --jobs 5 --interval 0.01",
    "sleeping": "--db sqlite --jobs 50",
    "memory": "--db sqlite --jobs 50",
    "processes": "--db sqlite --jobs 50 --rounds 1 --processes 2",
    "compare": f"--queues tinystore_django --only drain --jobs 20 --rounds 1 --python {sys.executable}",
}
SAID = {
    "latency": "add to the handler's start",
    "sleeping": "of the ideal",
    "memory": "of the first",
    "processes": "of one process",
    "compare": "| drain, sync no-op handlers, 10 at once, a second | ",
}


@pytest.mark.slow
def test_each_benchmark_runs_and_prints_its_ratio() -> None:
    # All of them at once: each waits more than it works.
    processes = {name: _start(name, options) for name, options in COMMANDS.items()}
    try:
        said = {name: process.communicate(timeout=60)[0] for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()

    assert {name: process.returncode for name, process in processes.items()} == dict.fromkeys(COMMANDS, 0), said
    assert [name for name, words in SAID.items() if words not in said[name]] == [], said


def test_a_comparison_shows_medians_and_how_many_times_as_good_ours_is_in_a_round() -> None:
    from benchmarks.others.table import markdown  # not beside the installed wheel

    rounds = [
        {"drain": {"ours": {"rate": 3000.0}, "theirs": {"rate": 1000.0}}, "wait": {"ours": {"p50": 2.0}, "theirs": {}}},
        {"drain": {"ours": {"rate": 900.0}, "theirs": {"rate": 450.0}}},
        {"drain": {"ours": {"rate": 1000.0}, "theirs": {"rate": 250.0}}},
    ]

    table = markdown(rounds, {"drain": "drained", "wait": "waited", "add": "added"})

    assert table.splitlines()[2:] == ["| drained, a second | 1,000 | 450 (3.00 ×) |", "| waited, p50, ms | 2.00 | – |"]


def _start(name: str, options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *options.split()]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
