"""The demo of the example project, as whoever meets the project first runs it."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from tests.programs import HOME, Program
from tests.settings import CHOSEN

pytestmark = [pytest.mark.slow, pytest.mark.checkout]
MANAGE = str(HOME / "example_project" / "manage.py")
SECONDS = 180.0
FACTS = [
    "database is migrated",
    "a worker runs, and the web server answers at http://127.0.0.1:",
    "order 1 and its job committed together, and the worker sent the email",
    "a declined card rolled an order back: no order, and no job of it",
    "failed, waited for its backoff, and was sent at attempt 2",
    "a video's page followed its job without a reload: ",
    "schedule cleanup, kept as '10 3 * * * Europe/Berlin', runs next at",
    "the admin's page of failed jobs shows that of order",
    "the worker and the web server have stopped",
]
Demo = Callable[..., Program]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Demo:
    """Starts the demo on the run's database, its temporary files in the test's folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    options = ["--postgres"] if CHOSEN == "postgresql" else []
    return lambda *more: Program(MANAGE, "demo", *options, *more, settings="example_project.settings")


def test_the_demo_shows_its_facts_and_leaves_nothing_twice_in_a_row(demo: Demo, tmp_path: Path) -> None:
    for _ in range(2):
        with demo() as one:
            assert one.wait(SECONDS) == 0

            assert [fact for fact, line in zip(FACTS, one.lines, strict=True) if fact not in line] == []
            assert [line for line in one.lines if not re.match(r" *\d+ ms  ", line)] == []
            assert left_of(one, tmp_path) == []


@pytest.mark.once
def test_a_served_demo_stays_up_until_a_signal_and_leaves_nothing(demo: Demo, tmp_path: Path) -> None:
    with demo("--serve") as one:
        admin = one.wait_for_line("login demo, password", seconds=SECONDS)
        one.wait_for_line("Ctrl-C")
        with urllib.request.urlopen(admin.split()[2]) as page:
            assert "Log in" in page.read().decode()

        one.send(signal.SIGINT)

        assert one.wait(SECONDS) == 0
        assert left_of(one, tmp_path) == []


@pytest.mark.once
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing(number: signal.Signals, demo: Demo, tmp_path: Path) -> None:
    with demo() as one:
        one.wait_for_line("a worker runs", seconds=SECONDS)

        one.send(number)
        one.send(number)

        assert one.wait(SECONDS) == 130
        assert one.lines[-1] == "stopped: its processes have ended, and its files are gone"
        assert left_of(one, tmp_path) == []


def test_a_demo_that_cannot_go_on_says_why(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "broken.py").write_text("from example_project.settings import *\nTINYSTORE = {'POLL': 'often'}\n")
    options = ["--postgres"] if CHOSEN == "postgresql" else []

    with Program(MANAGE, "demo", *options, settings="broken", path=modules) as one:
        assert one.wait(SECONDS) == 1

        assert one.lines[0].startswith("CommandError: manage.py migrate failed")
        assert "(tinystore.E001)" in one.text
        assert left_of(one, tmp_path) == []


@pytest.mark.postgresql
def test_a_demo_without_its_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYSTORE_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/postgres")

    with Program(MANAGE, "demo", "--postgres", settings="example_project.settings") as one:
        assert one.wait(SECONDS) == 1

        assert one.lines[0].startswith("CommandError: --postgres, and the PostgreSQL that the environment names")


def left_of(demo: Program, folder: Path) -> list[str]:
    """What there still is of a demo whose temporary files were in a folder: files, processes, databases."""
    files = [str(path) for path in folder.iterdir() if path.name.startswith("tinystore-demo")]
    # Whatever the demo started has the folder in its environment.
    variable = f"TMPDIR={folder}".encode()
    others = [path for path in Path("/proc").glob("[0-9]*/environ") if path.parent.name != str(os.getpid())]
    processes = [str(path) for path in others if variable in _environment(path)]
    return [*files, *processes, *_databases(demo)]


def _environment(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # it has ended since we looked
        return []


def _databases(demo: Program) -> list[str]:
    if CHOSEN == "sqlite":
        return []
    address = {key.lower(): value for key, value in settings.DATABASES["default"].items() if key in ("HOST", "PORT")}
    with psycopg.connect(**address, user="postgres", dbname="postgres") as server:
        rows = server.execute("select datname from pg_database where datname = %s", [f"tinystore_demo_{demo.pid}"])
        return [name for (name,) in rows]
