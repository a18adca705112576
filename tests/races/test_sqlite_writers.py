"""Several processes that write to one SQLite file, which takes one writer at a time."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Program, other_settings, script, wait_for, worker

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]

RECOMMENDED = """
DATABASES = {"default": sqlite("default") | {"NAME": "%s"}}
"""
# What startproject writes: a rollback journal, and transactions that take the lock at their first write.
PLAIN = """
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "%s"}}
"""
# Gives up on a lock after a second.
HASTY = """
DATABASES = {"default": sqlite("default") | {"NAME": "%s"}}
DATABASES["default"]["OPTIONS"]["timeout"] = 1
"""

# A job in a transaction with its row, and one that is set twice, first for later, then for now.
ADDER = """
import time
from django.db import transaction
from tests.project.jobs import marks
from tests.project.models import Order

number, end = 0, time.monotonic() + %(seconds)s
while time.monotonic() < end:
    name = f"%(name)s-{number}"
    with transaction.atomic():
        Order.objects.create(email=name)
        assert marks.add(name, id=name)
    name += "-set"
    marks.set(name, "too early", delay="1h")
    marks.set(name, name)
    time.sleep(0.01)
    number += 1
print(number)
"""

ADD_A_NAP = """
from tests.project.jobs import Nap, naps
naps.add(Nap("a", seconds=%s), id="a")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.sqlite3"


def migrated(tmp_path: Path, file: Path, databases: str) -> dict[str, Any]:
    """Other settings with an own file, whose tables are there."""
    settings = other_settings(tmp_path, "own_settings", databases % file)
    with Program("-m", "django", "migrate", "-v0", "--run-syncdb", **settings) as program:
        assert program.wait() == 0, program.text
    return settings


def ask(file: Path, query: str) -> list[Any]:
    """The first column of what the file holds."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=20)) as connection:
        return [row[0] for row in connection.execute(query)]


@pytest.mark.parametrize(
    ("databases", "seconds"), [(RECOMMENDED, 20), (PLAIN, 6)], ids=["recommended", "startproject's"]
)
def test_two_workers_and_two_adders_share_a_file(tmp_path: Path, file: Path, databases: str, seconds: int) -> None:
    settings = migrated(tmp_path, file, databases)

    with ExitStack() as stack:
        workers = [stack.enter_context(worker("marks", "--concurrency=3", **settings)) for _ in range(2)]
        adders = [stack.enter_context(script(ADDER % {"name": name, "seconds": seconds}, **settings)) for name in "ab"]
        for adder in adders:
            assert adder.wait(seconds + 30) == 0, adder.text
        wait_for(lambda: ask(file, "select count(*) from tinystore_django_job") == [0])
        for one in workers:
            one.send(signal.SIGTERM)
            assert one.wait() == 0

    assert sorted(ask(file, "select name from project_mark")) == sorted(added(adders))
    assert [one.said("locked") for one in workers] == [[], []]
    assert all(one.said("done") for one in workers)


def added(adders: list[Program]) -> list[str]:
    numbers = {name: int(adder.lines[-1]) for name, adder in zip("ab", adders, strict=True)}
    return [f"{name}-{number}{end}" for name in "ab" for number in range(numbers[name]) for end in ("", "-set")]


def test_a_lock_that_outlasts_the_timeout_costs_a_worker_a_pause_and_no_run(tmp_path: Path, file: Path) -> None:
    settings = migrated(tmp_path, file, HASTY)
    with script(ADD_A_NAP % 6, **settings) as program:
        assert program.wait() == 0

    with worker("naps", "--lease=8s", **settings) as one, closing(sqlite3.connect(file)) as other:
        wait_for(lambda: ask(file, "select count(*) from project_start") == [1])
        other.execute("begin exclusive")
        one.wait_for_line("database is locked", "going on as soon as it answers")
        other.rollback()
        one.wait_for_line("id=a attempt=1 done")
        assert one.code is None

    assert ask(file, "select attempt from project_start") == [1]
    assert ask(file, "select attempt from project_end") == [1]
    assert ask(file, "select count(*) from tinystore_django_job") == [0]


def test_a_lock_that_is_held_keeps_no_worker_past_its_grace(tmp_path: Path, file: Path) -> None:
    settings = migrated(tmp_path, file, RECOMMENDED)
    with script(ADD_A_NAP % 60, **settings) as program:
        assert program.wait() == 0

    with worker("naps", "--grace=1s", **settings) as one, closing(sqlite3.connect(file)) as other:
        wait_for(lambda: ask(file, "select count(*) from project_start") == [1])
        other.execute("begin immediate")
        one.send(signal.SIGTERM)
        assert one.wait(15) == 0  # the lock, for which its connections would wait 20 seconds each, is held all the time
        other.rollback()

    assert one.said("database is locked")
    assert ask(file, "select state from tinystore_django_job") == [1]  # free when the lease has run out
