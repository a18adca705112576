"""Schedules under workers that are killed: no tick twice, none at once with itself, none lost."""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Program, other_settings, script, wait_for, worker
from tinystore_django import models

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SCHEDULES = 200
SECONDS = 12
KILLS = (2.0, 5.0, 8.0)
# Handlers and database do not end at the same moment as the process that kill -9 was sent to.
SLACK = 0.05


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of one tick, by what its handler wrote down; without an end if its worker was killed."""

    tick: int
    attempt: int
    process: int
    start: float
    end: float | None


@pytest.fixture
def beats(tmp_path: Path) -> dict[str, Any]:
    """Settings of a project with the 200 schedules, whose handlers write to a file in the folder."""
    app = 'INSTALLED_APPS = [*INSTALLED_APPS, "tests.beats"]'
    return other_settings(tmp_path, "beating_settings", f"{app}\nBEATS_FILE = {str(tmp_path / 'beats')!r}")


def names() -> list[str]:
    return [f"beat-{number:03}" for number in range(SCHEDULES)]


def runs(file: Path) -> dict[str, list[Ran]]:
    """Every schedule's runs, in the order in which they began."""
    lines = [line.split() for line in file.read_text().splitlines()]
    ends = {tuple(run): float(at) for what, *run, at in lines if what == "end"}
    found: dict[str, list[Ran]] = defaultdict(list)
    for what, *run, at in lines:
        if what == "start":
            name, tick, attempt, process = run
            found[name].append(Ran(int(tick), int(attempt), int(process), float(at), ends.get(tuple(run))))
    return found


def two_workers_and_kills(settings: dict[str, Any]) -> dict[int, float]:
    """Run two workers, kill one after the other; return when each had died, by its pid."""
    killed: dict[int, float] = {}
    with ExitStack() as programs:
        workers = [programs.enter_context(_worker(settings)) for _ in range(2)]
        for one in workers:
            one.wait_for_line("runs")
        wait_for((settings["path"] / "beats").exists)
        began = time.monotonic()
        for number, seconds in enumerate(KILLS):
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            workers[number % 2].kill()
            killed[workers[number % 2].pid] = time.time()
            workers[number % 2] = programs.enter_context(_worker(settings))
        time.sleep(max(0.0, began + SECONDS - time.monotonic()))
        for one in workers:
            one.wait_for_line("runs")  # one that is still starting does not answer signals yet
            one.send(signal.SIGTERM)
        assert [one.wait() for one in workers] == [0, 0]
    return killed


def _worker(settings: dict[str, Any]) -> Program:
    return worker(*names(), "--lease=3s", **settings)


def overlapping(ran: Sequence[Ran], killed: dict[int, float]) -> list[tuple[Ran, Ran]]:
    """Pairs of which the later began before the earlier had ended, or its process had died."""
    return [
        (earlier, later)
        for earlier, later in pairwise(ran)
        if later.start < (killed[earlier.process] - SLACK if earlier.end is None else earlier.end)
    ]


def check(ran: Sequence[Ran], killed: dict[int, float]) -> int:
    """Checks all that one schedule's runs must be; how many of its ticks were run again."""
    assert overlapping(ran, killed) == []
    assert [one.tick for one in ran] == sorted(one.tick for one in ran)
    attempts: dict[int, list[Ran]] = defaultdict(list)
    for one in ran:
        attempts[one.tick].append(one)
    for several in attempts.values():
        # A tick has another run only where the one before it died with its worker, and the attempt counts on.
        assert {one.process for one in several[:-1]} <= killed.keys(), several
        assert [one.attempt for one in several] == sorted({one.attempt for one in several}), several
    # What was settled, or another tick would not have come, was done to its end.
    unfinished = [tick for tick, several in attempts.items() if several[-1].end is None]
    assert unfinished in ([], [max(attempts)])
    assert len(attempts) >= 2
    return len(ran) - len(attempts)


def test_two_hundred_schedules_under_kills_run_each_tick_once_and_never_at_once_with_themselves(
    beats: dict[str, Any],
) -> None:
    killed = two_workers_and_kills(beats)

    found = runs(beats["path"] / "beats")
    assert sorted(found) == names()
    again = sum(check(ran, killed) for ran in found.values())
    assert len(killed) == len(KILLS)
    assert again <= len(KILLS) * SCHEDULES
    assert models.Job.objects.count() == SCHEDULES


def test_killed_at_any_statement_a_due_tick_still_runs_and_once_where_its_run_was_settled(tmp_path: Path) -> None:
    settings = other_settings(tmp_path, "short_leases", 'TINYSTORE = {"LEASE": "1s"}')

    with script("from tests.races.each_statement import main; main()", **settings) as program:
        program.wait_for_line("ended", seconds=180)

    cases = [[int(word) for word in line.split()[1:]] for line in program.said("ran ")]
    assert all(attempts for _, *attempts in cases)
    assert all(len(attempts) == 1 for settled, *attempts in cases if settled)
    # Between the handler's end and its settle it can only be run again, as its second attempt.
    assert {tuple(attempts) for settled, *attempts in cases if not settled} == {(1,), (2,), (1, 2)}
    assert [settled for settled, *_ in cases].count(1) > 2
