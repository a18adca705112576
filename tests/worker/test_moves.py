"""What a worker says to those who watch, and that it says nothing to nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests.programs import wait_for
from tinystore_django import Queue, Run, Store
from tinystore_django.databases import database
from tinystore_django.databases.listening import WATCHED, NotifyListener
from tinystore_django.worker import moves
from tinystore_django.worker.listening import Listening
from tinystore_django.worker.moves import Moves
from tinystore_django.worker.patience import Patience
from tinystore_django.worker.wake import Wake

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was said, a list each time."""
    said: list[list[str]] = []
    monkeypatch.setattr(database("default"), "tell_watchers", lambda queues: said.append(list(queues)))
    return said


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


def test_what_nobody_watches_is_not_noted(told: list[list[str]]) -> None:
    one = Moves("default")
    one.watched("others")

    assert one.note("emails") is False
    assert (one.untold, one.tell(), told) == (False, False, [])


def test_what_happened_in_watched_queues_is_told_once_and_together(told: list[list[str]]) -> None:
    one = Moves("default")
    for queue in ("b", "a"):
        one.watched(queue)
        assert one.note(queue)
        assert one.note(queue)

    assert (one.untold, one.tell(), one.tell()) == (True, True, False)
    assert told == [["a", "b"]]


def test_a_watch_that_was_not_heard_of_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "WATCHED_FOR", 0.0)
    one = Moves("default")
    one.watched("emails")

    assert one.note("emails") is False


def test_a_worker_remembers_the_watches_of_its_own_queues_alone(told: list[list[str]]) -> None:
    heard = Moves("default")
    listening = Listening("default", {"emails"}, Wake(), Patience("default"), heard)

    listening._hear({f"{WATCHED}{queue}" for queue in ["emails", *map(str, range(1_000))]}, gathers=True)

    assert heard._watched_until.keys() == {"emails"}
    assert [queue for queue in ("emails", "7") if heard.note(queue)] == ["emails"]


@pytest.mark.postgresql
class TestAWorker:
    @pytest.fixture
    def listener(self, transactional_db: None) -> Iterator[NotifyListener]:
        """What hears both channels."""
        one = database("default").listener(True, moves=True)
        assert isinstance(one, NotifyListener)
        yield one
        one.close()

    def test_that_hears_of_a_watch_tells_of_claims_settles_and_progress(
        self, emails: Queue[Any], listener: NotifyListener
    ) -> None:
        heard: list[str] = []

        def handler(value: str, run: Run) -> None:
            heard.clear()
            run.set_progress(1)
            wait_for(lambda: _hears(listener, heard))

        with emails.work(handler) as worker:
            wait_for(lambda: worker._listening.hears)
            database("default").tell_workers(["emails"])
            wait_for(lambda: worker._hold.moves._watched_until)
            emails.add("a")
            wait_for(lambda: worker.settled)
            heard.clear()
            wait_for(lambda: _hears(listener, heard))

    def test_that_hears_of_no_watch_tells_nothing(self, emails: Queue[Any], told: list[list[str]]) -> None:
        with emails.work(lambda value: None) as worker:
            wait_for(lambda: worker._listening.hears)
            for number in range(20):
                emails.add(number)
            wait_for(lambda: worker.settled == 20)

        assert told == []

    def test_a_worker_is_not_woken_by_a_watch_nor_by_what_others_tell(self, listener: NotifyListener) -> None:
        database("default").tell_workers(["emails", "others"])
        plain = database("default").listener(True)
        assert plain is not None
        try:
            database("default").tell_watchers(["emails"])
            database("default").tell_workers(["emails"])

            assert plain.wait(5) == {f"{WATCHED}emails"}
        finally:
            plain.close()


@pytest.mark.postgresql
@pytest.mark.parametrize("moves", [False, True])
def test_of_what_others_notify_no_more_is_heard_than_a_queues_name_may_be_long(moves: bool) -> None:
    listener = database("default").listener(True, moves)
    assert isinstance(listener, NotifyListener)
    name = "q" * 64
    heard: set[str] = set()
    try:
        with connection.cursor() as cursor:
            for payload in (f"{WATCHED}{name}{'x' * 7_000}", f"{WATCHED}{name}"):
                for channel in (NotifyListener.CHANNEL, NotifyListener.MOVES):
                    cursor.execute("select pg_notify(%s, %s)", [channel, payload])

        wait_for(lambda: heard.update(listener.wait(5)) or f"{WATCHED}{name}" in heard)
    finally:
        listener.close()

    assert all(len(words) <= len(f"{WATCHED}{name}") + 1 for words in heard)
    assert not {one.removeprefix(WATCHED) for one in heard} - {name, f"{name}x"}


def _hears(listener: NotifyListener, heard: list[str]) -> bool:
    heard += [
        notice.payload
        for notice in listener.connection.notifies(timeout=0.05)
        if notice.channel == NotifyListener.MOVES
    ]
    return "emails" in heard
