"""What a worker on SQLite hears of a commit that takes its time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from tinystore_django.databases.listening import ANY, FileListener, file_of

pytestmark = pytest.mark.sqlite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs.sqlite3"


@pytest.fixture(params=["wal", "delete"])
def writer(file: Path, request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """A connection that writes to the file long before its commit, as it keeps next to nothing in memory."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"pragma journal_mode = {request.param}")
        connection.execute("create table job (value text)")
        connection.execute("pragma cache_size = 1")
        yield connection


@pytest.fixture
def listener(file: Path, writer: sqlite3.Connection) -> Iterator[FileListener]:
    with closing(FileListener(str(file))) as listener:
        yield listener


def write_much(writer: sqlite3.Connection) -> None:
    writer.executemany("insert into job values (?)", [("x" * 1000,)] * 500)


def test_a_write_is_no_news_before_its_commit(file: Path, writer: sqlite3.Connection, listener: FileListener) -> None:
    seen = listener.seen
    writer.execute("begin")
    write_much(writer)

    assert listener.wait(0.5) == set()
    assert listener.seen != seen
    writer.execute("commit")
    assert listener.wait(5) == {ANY}
    assert listener.wait(0.2) == set()


def test_a_listener_that_came_while_the_file_was_locked_hears_of_the_commit(
    file: Path, writer: sqlite3.Connection
) -> None:
    writer.execute("begin exclusive")
    write_much(writer)

    with closing(FileListener(str(file))) as late:
        assert late.wait(0.1) == set()
        writer.execute("commit")
        assert late.wait(5) == {ANY}


def test_a_write_that_is_rolled_back_is_no_news(writer: sqlite3.Connection, listener: FileListener) -> None:
    writer.execute("begin")
    write_much(writer)
    writer.execute("rollback")

    assert listener.wait(0.5) == set()


@pytest.mark.parametrize("how", ["uri", "uri with signs", "link", "relative", "signs"])
def test_a_commit_is_heard_however_the_file_is_named(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ("d %41#?b.sqlite3" if "signs" in how else "jobs.sqlite3")
    name = str(file)
    if how == "link":
        name = str(tmp_path / "link.sqlite3")
        Path(name).symlink_to(file)
    if how.startswith("uri"):
        name = f"file:{quote(str(file))}?mode=rwc&cache=private"
    if how == "relative":
        name = file.name
    with closing(sqlite3.connect(file, isolation_level=None)) as writer, closing(FileListener(name)) as listener:
        writer.execute("pragma journal_mode = wal")
        writer.execute("create table job (value text)")
        while listener.wait(0.1):
            pass
        listener.changed_at -= FileListener.COMMIT  # from here on the file alone tells
        writer.execute("insert into job values ('a')")

        assert listener.wait(5) == {ANY}


@pytest.mark.parametrize(
    "name", [":memory:", "", "file::memory:", "file:shop?mode=memory&cache=shared", "file:/shop?vfs=memdb"]
)
def test_a_database_in_memory_has_no_file_to_look_at(name: str) -> None:
    assert file_of(name) is None
