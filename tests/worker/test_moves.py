"""What a worker says to those who watch, and that it says nothing to nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.programs import wait_for
from tinystore_django import Queue, Run, Store
from tinystore_django.databases import database
from tinystore_django.databases.listening import WATCHED, NotifyListener
from tinystore_django.worker import moves
from tinystore_django.worker.moves import Moves

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


def _hears(listener: NotifyListener, heard: list[str]) -> bool:
    heard += [
        notice.payload
        for notice in listener.connection.notifies(timeout=0.05)
        if notice.channel == NotifyListener.MOVES
    ]
    return "emails" in heard
