"""A database that does not answer costs a worker a pause, longer each time, and a line a minute."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from django.db import OperationalError

from tests.programs import other_settings, wait_for, worker
from tinystore_django import Store, Worker
from tinystore_django.databases import database
from tinystore_django.worker import loop, patience, upkeep
from tinystore_django.worker.loop import Loop
from tinystore_django.worker.patience import Patience

T = TypeVar("T")

LOST = OperationalError("server closed the connection\n\tunexpectedly")


def test_pauses_double_from_a_tenth_of_a_second_to_five() -> None:
    waiting = Patience("default")

    pauses = [waiting.lost(LOST) for _ in range(9)]

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


def test_once_it_is_well_the_next_pause_is_short_again() -> None:
    waiting = Patience("default")
    waiting.lost(LOST)
    waiting.lost(LOST)

    waiting.well()

    assert waiting.lost(LOST) == 0.1


def test_it_is_said_once_a_minute_in_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1000.0, 1001.0, 1059.9, 1060.0])
    monkeypatch.setattr(patience.time, "monotonic", lambda: next(times))
    waiting = Patience("default")
    for _ in range(4):
        waiting.lost(LOST)

    line = "database 'default': server closed the connection; going on as soon as it answers"
    assert caplog.messages == [line, line]


def in_another_thread(call: Callable[[], T]) -> T:
    answers: list[T] = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    thread.join()
    return answers[0]


def test_each_thread_of_a_worker_has_pauses_of_its_own() -> None:
    waiting = Patience("default")
    waiting.lost(LOST)

    assert in_another_thread(lambda: waiting.lost(LOST)) == 0.1


def test_the_first_thread_that_is_answered_again_ends_the_pauses_of_the_others() -> None:
    waiting = Patience("default")
    ended: list[str] = []
    waiting.on_well(lambda: ended.append("loop"))
    waiting.on_well(lambda: ended.append("upkeep"))

    waiting.well()
    assert ended == []  # nobody waits

    waiting.lost(LOST)
    in_another_thread(waiting.well)
    assert ended == []  # that thread was always answered

    waiting.well()
    assert ended == ["loop", "upkeep"]
    waiting.well()
    assert ended == ["loop", "upkeep"]


@pytest.mark.django_db(transaction=True)
def test_every_thread_of_a_worker_comes_back_as_soon_as_one_is_answered(
    shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"tinystore-loop", "tinystore-upkeep", "tinystore-listening"}
    away, waiting, back = [True], set[str](), set[str]()
    real_lost, real_well = Patience.lost, Patience.well

    def lost(self: Patience, error: Exception) -> float:
        real_lost(self, error)
        waiting.add(threading.current_thread().name)
        return 60.0

    def well(self: Patience) -> None:
        real_well(self)
        back.add(threading.current_thread().name)

    def answer(*about: Any) -> None:
        if away[0]:
            raise LOST

    monkeypatch.setattr(Patience, "lost", lost)
    monkeypatch.setattr(Patience, "well", well)
    monkeypatch.setattr(loop, "refresh", answer)
    monkeypatch.setattr(upkeep, "refresh", answer)
    store = type(database("default"))
    listener = store.listener
    monkeypatch.setattr(store, "listener", lambda *about: answer() or listener(*about))
    with Worker([shop.queue("emails")._declaration.handled_by(print)], lease=240_000_000).start() as worker:
        wait_for(lambda: waiting >= names)
        assert not back
        away[0] = False
        worker._loop.wake.set()

        wait_for(lambda: back == names, 10)


def hopeless_database(kind: str, folder: Path) -> str:
    """A settings' line with a database that cannot be used until somebody does something."""
    if kind == "no folder":
        return f'DATABASES["default"] = sqlite("default") | {{"NAME": {str(folder / "no" / "db")!r}}}'
    (folder / "db").write_bytes(b"no database" * 1000)
    return f'DATABASES["default"] = sqlite("default") | {{"NAME": {str(folder / "db")!r}}}'


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "said"), [("no folder", "not there"), ("corrupt", "corrupt, or no database")])
def test_until_idle_ends_with_1_by_its_grace_and_says_what_waiting_does_not_mend(
    kind: str, said: str, tmp_path: Path
) -> None:
    settings = other_settings(tmp_path, "own_settings", hopeless_database(kind, tmp_path))

    with worker("marks", "--until-idle", "--grace=300ms", **settings) as one:  # type: ignore[arg-type]
        assert one.wait() == 1

    assert len(one.said("which waiting does not mend", said)) == 1
    assert one.said("--until-idle waits no longer")
    assert not one.said("Traceback")


@pytest.mark.django_db(transaction=True)
def test_until_idle_gives_up_where_the_database_goes_away_for_longer_than_its_grace(
    shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    declaration = shop.queue("emails")._declaration.handled_by(print)

    def away(*about: Any) -> None:
        raise LOST

    monkeypatch.setattr(loop, "refresh", away)
    monkeypatch.setattr(Loop, "_settle_rest", away)
    one = Worker([declaration], until_idle=True, grace=200_000).start()

    assert one.wait(10)
    assert one.gave_up


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ('connection failed: FATAL:  database "nope" does not exist', "no such database"),
        ('connection failed: FATAL:  password authentication failed for user "x"', "wrong password"),
        ('connection failed: FATAL:  role "x" does not exist', "no such role"),
        ("fe_sendauth: no password supplied", "no password"),
        ("connection failed: Connection refused", None),
        ("connection failed: FATAL:  the database system is starting up", None),
    ],
)
def test_what_waiting_does_not_mend_is_told_at_once_and_by_its_words(
    words: str, why: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = Patience("default")
    waiting.lost(LOST)
    error = OperationalError(words)
    error.__cause__ = psycopg.OperationalError(words)

    waiting.lost(error)
    waiting.lost(error)

    lines = [] if why is None else [f"database 'default': {why}, which waiting does not mend: {words}"]
    assert caplog.messages[1:] == lines


def test_a_folder_that_may_not_be_written_is_told(caplog: pytest.LogCaptureFixture) -> None:
    cause = sqlite3.OperationalError("attempt to write a readonly database")
    cause.sqlite_errorcode = sqlite3.SQLITE_READONLY_DIRECTORY
    error = OperationalError(str(cause))
    error.__cause__ = cause

    Patience("default").lost(error)

    assert "its file or folder may not be written, which waiting does not mend" in caplog.text
