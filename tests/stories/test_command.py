"""`manage.py tinystore_work`, as an operator types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from tests.programs import Program, other_settings, worker
from tests.project.jobs import Nap, failures, four_naps, marks, naps
from tests.project.models import End, Mark, Start
from tests.settings import CHOSEN
from tinystore_django.models import Job as Row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
WAKERS = {"sqlite": "changes of the database's file", "postgresql": "LISTEN/NOTIFY"}


def ended(program: Program) -> tuple[int, list[str]]:
    """Waits for a worker's end: its exit code, and what it said."""
    with program:
        return program.wait(), program.lines


def most_at_once() -> int:
    """How many naps overlapped, at the most."""
    changes = [(start.at, 1) for start in Start.objects.all()] + [(end.at, -1) for end in End.objects.all()]
    running, most = 0, 0
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most


def test_until_idle_runs_what_is_due_and_ends() -> None:
    for name in "abc":
        marks.add(name)
    marks.add("later", id="later", delay="1h")

    code, lines = ended(worker("marks", "--until-idle"))

    assert (code, len(lines)) == (0, 5)
    assert lines[-1].endswith(" INFO ended: settled 3 runs")
    assert [mark.name for mark in Mark.objects.all()] == ["a", "b", "c"]
    assert marks.get("later").state == "scheduled"


def test_max_jobs_ends_a_worker_after_so_many_runs() -> None:
    for name in "abc":
        marks.add(name)

    code, lines = ended(worker("marks", "--max-jobs=2", "--concurrency=2"))

    assert code == 0
    assert lines[-1].endswith(" INFO ended: settled 2 runs")
    assert sorted(mark.name for mark in Mark.objects.all()) == ["a", "b"]
    assert Row.objects.filter(state=0).count() == 1


def test_an_unknown_queue_is_told_in_one_line() -> None:
    code, lines = ended(worker("marks", "nonsense"))

    assert (code, len(lines)) == (1, 1)
    assert "no queue or schedule 'nonsense'" in lines[0]
    assert "marks" in lines[0]


def test_a_queue_without_a_handler_is_told_in_one_line() -> None:
    code, lines = ended(worker("unhandled"))

    assert (code, len(lines)) == (1, 1)
    assert "queue 'unhandled' has no handler" in lines[0]


def test_nothing_to_run_is_told_in_one_line(tmp_path: Path) -> None:
    code, lines = ended(worker(**other_settings(tmp_path, "bare", 'INSTALLED_APPS.remove("tests.project")')))

    assert (code, len(lines)) == (1, 1)
    assert "nothing to run" in lines[0]


def test_an_exclude_that_leaves_nothing_is_told_in_one_line() -> None:
    code, lines = ended(worker("marks", "--exclude=marks"))

    assert (code, len(lines)) == (1, 1)
    assert "nothing to run: --exclude marks leaves no queue with a handler" in lines[0]


def test_a_worker_before_migrate_is_told_in_one_line(tmp_path: Path) -> None:
    code, lines = ended(worker("marks", **other_settings(tmp_path, "fresh", empty_database(tmp_path))))

    assert (code, len(lines)) == (1, 1)
    assert "run manage.py migrate" in lines[0]


def empty_database(folder: Path) -> str:
    """Settings that name a database without tables."""
    name = str(folder / "empty.sqlite3")
    if CHOSEN == "postgresql":
        name = "tinystore_empty"
        with connection.cursor() as cursor:
            cursor.execute(f"drop database if exists {name}")
            cursor.execute(f"create database {name}")
    return f'DATABASES["default"]["NAME"] = {name!r}'


def test_a_worker_says_what_it_runs_where_and_how_it_is_woken() -> None:
    naps.add(Nap("a"), id="a")

    _, lines = ended(worker("naps", "four-naps", "--concurrency=6", "--poll=5s", "--until-idle"))

    assert lines[0].startswith("tinystore_django ")
    assert "naps (6 at once)" in lines[0]
    assert "four-naps (4 at once)" in lines[0]
    assert f"of database 'default' ({NAMES[CHOSEN]}), woken by {WAKERS[CHOSEN]} and every 5s" in lines[0]
    assert "INFO naps id=a attempt=1 done " in lines[1]
    assert lines[1].endswith(" ms")
    assert lines[2].endswith(" INFO ended: settled 1 run")


def test_a_failed_run_is_logged_with_each_attempt() -> None:
    failures.add("no luck", id="a")

    with worker("failures") as one:
        one.wait_for_line("failures id=a attempt=2 failed")

    assert len(one.said("failures id=a attempt=1 retry")) == 1
    assert failures.get("a").error == "no luck"


def test_a_worker_runs_all_queues_but_those_excluded() -> None:
    marks.add("a", id="a")
    naps.add(Nap("b"), id="b")

    code, lines = ended(worker("--exclude=naps", "--exclude=four-naps", "--until-idle"))

    assert code == 0
    assert lines[0] == "no handler, not run: unhandled"
    assert "marks (1 at once)" in lines[1]
    assert " naps " not in lines[1]
    assert "four-naps" not in lines[1]
    assert marks.get("a") is None
    assert naps.get("b").state == "waiting"


@pytest.mark.parametrize(("flags", "most"), [([], 1), (["--concurrency=3"], 3)], ids=["no flag", "a flag"])
def test_a_queue_without_a_limit_runs_as_many_at_once_as_the_flag_says(flags: list[str], most: int) -> None:
    for number in range(6):
        naps.add(Nap(str(number), seconds=0.25))

    ended(worker("naps", "--until-idle", *flags))

    assert End.objects.count() == 6
    assert most_at_once() == most


def test_a_flag_lifts_no_queue_above_its_own_limit() -> None:
    for number in range(10):
        four_naps.add(Nap(str(number), seconds=0.25))

    ended(worker("four-naps", "--until-idle", "--concurrency=9"))

    assert End.objects.count() == 10
    assert most_at_once() == 4


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--lease=5", "write it as"),
        ("--poll=0s", "longer than nothing"),
        ("--concurrency=0", "whole number"),
        ("--max-jobs=x", "x"),
    ],
)
def test_a_flag_that_cannot_be_is_refused_with_what_to_write(flag: str, said: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("tinystore_work", "marks", flag)

    assert flag.partition("=")[0] in str(refused.value)
    assert said in str(refused.value)


def test_jobs_of_a_queue_that_no_code_knows_wait() -> None:
    Row.objects.create(queue="gone", key="a", value='{"x": 1}', at=0, due=0)
    marks.add("a")

    with worker("--lease=1500ms", "--exclude=naps") as one:
        one.wait_for_line("marks pk=", "attempt=1 done")
        assert one.code is None

    row = Row.objects.get()
    assert (row.queue, row.state, row.attempt, row.value) == ("gone", Row.State.READY, 0, '{"x": 1}')
