"""Who watches outside a transaction is shown what one thread sees for all."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import DatabaseError, connections, transaction

from tests.byhand import Hand
from tests.programs import wait_for
from tests.watching.watch import Seen, cut, in_thread, nobody_watches, sessions, states
from tinystore_django import Queue, Store, models
from tinystore_django.databases import database
from tinystore_django.lifecycle import stepping
from tinystore_django.testing import Clock
from tinystore_django.watching import hub
from tinystore_django.watching.hub import _hubs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def emails(shop: Store) -> Iterator[Queue[Any]]:
    """A queue; in the end nothing of any watch may be left."""
    yield shop.queue("emails")
    wait_for(nobody_watches)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the thread looked."""
    times: list[float] = []
    real = hub.look
    monkeypatch.setattr(hub, "look", lambda *about: (times.append(time.monotonic()), real(*about))[1])
    return times


@pytest.fixture
def by_hand() -> Hand:
    """A worker by hand, under the real clock."""
    return Hand()


def test_a_watch_shows_a_job_from_its_add_to_its_end(emails: Queue[Any], by_hand: Hand) -> None:
    emails.add("a", id="x")
    seen = Seen(emails)
    held = by_hand.take_one(emails)
    wait_for(lambda: seen.states == ["waiting", "running"])
    stepping.report("default", held.fence, "[1, 2]")
    wait_for(lambda: seen.jobs[-1].progress == [1, 2])
    by_hand.end(held)

    assert seen.end() == ["waiting", "running", "running", "done"]
    assert [job.value for job in seen.jobs] == ["a"] * 4


def test_a_coroutine_is_shown_the_same(emails: Queue[Any], by_hand: Hand) -> None:
    emails.add("a", id="x")

    async def watched() -> list[str]:
        shown: list[str] = []
        taken: list[Any] = []
        async for job in emails.awatch("x"):
            shown.append(job.state)
            if job.state == "waiting":
                taken.append(await in_thread(lambda: by_hand.take_one(emails)))
            elif job.state == "running":
                await in_thread(lambda: by_hand.end(taken[0], "failed", "no"))
        return shown

    assert async_to_sync(watched)() == ["waiting", "running", "failed"]


def test_it_ends_with_a_cancel(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    seen = Seen(emails)

    emails.cancel("x")

    assert seen.end() == ["scheduled", "cancelled"]


def test_what_is_not_committed_is_not_shown(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    seen = Seen(emails)
    with transaction.atomic():
        emails.cancel("x")
        time.sleep(0.5)
        transaction.set_rollback(True)
    emails.add("b", id="x")
    assert seen.states == ["scheduled"]

    with transaction.atomic():
        emails.cancel("x")

    assert seen.end() == ["scheduled", "cancelled"]


def test_a_move_of_the_tests_clock_is_seen(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x", delay="1h")
    seen = Seen(emails)

    clock.advance("1h")

    wait_for(lambda: seen.states == ["scheduled", "waiting"])
    emails.cancel("x")
    seen.end()


def test_a_job_falls_due_at_its_time(emails: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "SLOW", 60.0)
    emails.add("a", id="x", delay="700ms")
    seen = Seen(emails)

    wait_for(lambda: seen.states == ["scheduled", "waiting"])
    emails.cancel("x")
    seen.end()


def test_a_timeout_is_of_the_whole_watch_and_of_real_time(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x")
    began = time.monotonic()

    assert states(emails.watch("x", timeout=0.4)) == ["waiting"]

    assert 0.4 <= time.monotonic() - began < 30


def test_many_watchers_are_one_thread_that_looks_five_times_a_second(
    emails: Queue[Any], looks: list[float], by_hand: Hand
) -> None:
    emails.add_many(range(200), id=str)

    async def watched() -> tuple[set[int], list[list[str]]]:
        some = [asyncio.create_task(_states(emails, str(number))) for number in range(200)]
        while "default" not in _hubs or len(_hubs["default"].watchers) < 200:
            await asyncio.sleep(0.05)
        threads = {one.ident for one in threading.enumerate() if one.name == "tinystore-watching"}
        await in_thread(lambda: [by_hand.end(held) for held in by_hand.take(emails, 200)])
        return threads, await asyncio.gather(*some)

    began = time.monotonic()
    threads, shown = async_to_sync(watched)()

    assert len(threads) == 1
    assert {one[-1] for one in shown} == {"done"}
    assert len(looks) <= 5 * (time.monotonic() - began) + 1


@pytest.mark.postgresql
def test_many_watchers_hold_two_connections_and_none_when_they_have_left(emails: Queue[Any]) -> None:
    emails.add_many(range(50), id=str, delay="1h")
    before = sessions()
    watches = [emails.watch(str(number)) for number in range(50)]

    assert [next(one).state for one in watches] == ["scheduled"] * 50
    wait_for(lambda: sessions() == before + 2)
    time.sleep(0.3)
    assert sessions() == before + 2

    for one in watches:
        one.close()
    wait_for(lambda: sessions() == before)


@pytest.mark.postgresql
def test_while_nothing_happens_it_looks_once_a_second(emails: Queue[Any], looks: list[float]) -> None:
    emails.add("a", id="x", delay="1h")

    assert states(emails.watch("x", timeout=2.5)) == ["scheduled"]

    assert 2 <= len(looks) <= 5


@pytest.mark.postgresql
def test_without_notify_it_looks_five_times_a_second_and_holds_one_connection(
    emails: Queue[Any], looks: list[float], settings: Any
) -> None:
    settings.TINYSTORE = {"NOTIFY": False}
    emails.add("a", id="x", delay="1h")
    before = sessions()
    seen = Seen(emails, timeout=1.5)
    wait_for(lambda: len(looks) > 2)

    assert sessions() == before + 2  # its own, and the thread's that watches
    assert seen.end() == ["scheduled"]
    assert 3 <= len(looks) <= 8


@pytest.mark.sqlite
def test_while_the_file_does_not_change_it_looks_once_a_second(emails: Queue[Any], looks: list[float]) -> None:
    emails.add("a", id="x", delay="1h")

    assert states(emails.watch("x", timeout=2.5)) == ["scheduled"]

    assert 2 <= len(looks) <= 6


def test_a_watch_that_is_closed_or_forgotten_leaves_nothing(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    closed, forgotten = emails.watch("x"), emails.watch("x")
    assert (next(closed).state, next(forgotten).state) == ("scheduled", "scheduled")
    assert not nobody_watches()

    closed.close()  # type: ignore[attr-defined]
    del forgotten
    gc.collect()

    wait_for(nobody_watches)


def test_a_watch_that_is_never_asked_for_starts_nothing(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    reports, others = emails.watch("x"), emails.awatch("x")

    assert nobody_watches()
    del reports, others


@pytest.mark.parametrize("how", ["break", "cancel", "close"])
def test_a_coroutine_that_stops_watching_leaves_nothing(how: str, emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")

    async def watched() -> None:
        if how == "cancel":
            task = asyncio.create_task(_states(emails, "x"))
            await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif how == "close":
            async with aclosing(emails.awatch("x")) as reports:
                await anext(reports)
        else:
            async for _ in emails.awatch("x"):
                break
        await asyncio.to_thread(wait_for, nobody_watches)

    async_to_sync(watched)()


def test_an_event_loop_that_was_closed_under_its_watchers_leaves_nothing(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    loop = asyncio.new_event_loop()
    reports = emails.awatch("x")
    assert loop.run_until_complete(anext(reports)).state == "scheduled"
    loop.run_until_complete(sync_to_async(connections.close_all)())
    loop.close()

    wait_for(nobody_watches)


def test_who_is_slow_is_shown_the_latest_and_the_end(emails: Queue[Any], by_hand: Hand) -> None:
    emails.add("a", id="x")
    reports = emails.watch("x")
    next(reports)
    held = by_hand.take_one(emails)
    for number in range(3):
        stepping.report("default", held.fence, str(number))
        time.sleep(0.25)
    wait_for(lambda: _watcher().latest.job.progress == 2)

    assert next(reports).progress == 2
    by_hand.end(held)
    assert states(reports) == ["done"]


def test_two_watchers_of_one_job_are_both_shown_it(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    some = [Seen(emails), Seen(emails)]

    emails.cancel("x")

    assert [one.end() for one in some] == [["scheduled", "cancelled"]] * 2


def test_a_database_that_stumbles_costs_a_pause(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    emails.add("a", id="x", delay="1h")
    real, fails = hub.look, [DatabaseError("away"), ValueError("a fault of ours")]

    def stumbling(*about: Any) -> Any:
        if fails:
            raise fails.pop(0)
        return real(*about)

    monkeypatch.setattr(hub, "look", stumbling)
    seen = Seen(emails)
    wait_for(lambda: not fails)
    emails.cancel("x")

    assert seen.end() == ["scheduled", "cancelled"]
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        "database 'default': away; going on as soon as it answers"
    ]


def test_where_nothing_can_listen_it_looks_all_the_same(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*args: Any, **about: Any) -> Any:
        raise OSError("too many connections")

    monkeypatch.setattr(database("default"), "listener", refused)
    emails.add("a", id="x", delay="1h")
    seen = Seen(emails)
    emails.cancel("x")

    assert seen.end() == ["scheduled", "cancelled"]
    assert caplog.text.count("too many connections") == 1


def test_after_too_long_without_an_answer_a_watch_ends_without_a_guess(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "REMEMBERED", 500_000)
    emails.add("a", id="x", delay="1h")
    seen = Seen(emails)
    real, asked, back = hub.look, threading.Event(), threading.Event()

    def look(*about: Any) -> Any:
        asked.set()
        if not back.is_set():
            raise DatabaseError("away")
        return real(*about)

    monkeypatch.setattr(hub, "look", look)
    assert asked.wait(30)
    emails.cancel("x")
    models.Cancel.objects.all().delete()
    time.sleep(1)
    back.set()

    assert seen.end() == ["scheduled"]


@pytest.mark.postgresql
def test_lost_connections_are_replaced_and_what_happened_meanwhile_is_shown(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    seen = Seen(emails)
    thread = _hubs["default"]
    wait_for(lambda: thread._listener)
    for _ in range(2):
        listener: Any = thread._listener
        cut(listener.connection.info.backend_pid)
        wait_for(lambda listener=listener: thread._listener not in (None, listener))

    emails.cancel("x")

    assert seen.end() == ["scheduled", "cancelled"]


@pytest.mark.postgresql
def test_a_lost_connection_for_reading_is_replaced(emails: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    emails.add("a", id="x", delay="1h")
    pids: list[int] = []
    real = hub.look

    def note(*about: Any) -> Any:
        connections["default"].ensure_connection()
        pids.append(connections["default"].connection.info.backend_pid)
        return real(*about)

    monkeypatch.setattr(hub, "look", note)
    seen = Seen(emails)
    wait_for(lambda: pids)
    cut(pids[0])
    emails.cancel("x")

    assert seen.end() == ["scheduled", "cancelled"]
    assert len(set(pids)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_process_watches_with_a_thread_of_its_own(emails: Queue[Any]) -> None:
    emails.add("a", id="x", delay="1h")
    reports = emails.watch("x")
    next(reports)

    child = os.fork()
    if child == 0:
        os._exit(0 if not _hubs and hub._lock.acquire(timeout=1) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    emails.cancel("x")
    assert states(reports) == ["cancelled"]


async def _states(queue: Queue[Any], id: str) -> list[str]:
    async with aclosing(queue.awatch(id)) as reports:
        return [job.state async for job in reports]


def _watcher() -> Any:
    (watcher,) = _hubs["default"].watchers
    return watcher


def test_a_watched_row_that_is_damaged_silences_no_other_watcher(emails: Queue[Any]) -> None:
    for id in "xy":
        emails.add(1, id=id, delay="1h")
    damaged, sound = Seen(emails, "x"), Seen(emails, "y")
    models.Job.objects.filter(key="x").update(at=9 * 10**18, due=-(2**63), last_ended_at=1, repeat="junk")

    wait_for(lambda: len(damaged.jobs) == 2)
    emails.update("y", 2, delay="3h")
    wait_for(lambda: len(sound.jobs) == 2)

    models.Job.objects.filter(key="x").update(state=7)
    emails.cancel("y")
    assert sound.end() == ["scheduled", "scheduled", "cancelled"]
    assert damaged.end() == ["scheduled", "scheduled", "failed"]
