"""What is said after a commit: to workers, and to the receivers of job_added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from tests.byhand import rolled_back
from tinystore_django import Queue
from tinystore_django.databases import database
from tinystore_django.lifecycle import notices
from tinystore_django.signals import job_added
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """The notices of this process."""
    said: list[str] = []
    unsubscribe = notices.subscribe("default", said.append)
    yield said
    unsubscribe()


@pytest.fixture
def added() -> Iterator[list[tuple[str, str | None]]]:
    """What job_added said."""
    said: list[tuple[str, str | None]] = []

    def receiver(sender: str, id: str | None, **kwargs: Any) -> None:
        said.append((sender, id))

    job_added.connect(receiver)
    yield said
    job_added.disconnect(receiver)


def test_an_add_is_said_once_it_has_committed(emails: Queue[Any], heard: list[str], added: list[Any]) -> None:
    with transaction.atomic():
        emails.add("a", id="x")
        before = (list(heard), list(added))

    assert before == ([], [])
    assert (heard, added) == (["emails"], [("emails", "x")])


def test_an_add_rolled_back_was_never_said(emails: Queue[Any], heard: list[str], added: list[Any]) -> None:
    with rolled_back():
        emails.add("a", id="x")

    assert (heard, added) == ([], [])


def test_an_add_of_a_taken_id_says_nothing(emails: Queue[Any], heard: list[str], added: list[Any]) -> None:
    emails.add("a", id="x")
    emails.add("b", id="x")

    assert (heard, added) == (["emails"], [("emails", "x")])


def test_a_change_wakes_the_workers_and_a_set_that_adds_is_an_add(
    emails: Queue[Any], heard: list[str], added: list[Any]
) -> None:
    emails.set("x", "a")
    emails.set("x", "b")
    emails.update("x", "c")

    assert (heard, added) == (["emails"] * 3, [("emails", "x")])


def test_a_receiver_that_raises_is_logged_and_changes_nothing(
    emails: Queue[Any], added: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**kwargs: Any) -> None:
        raise ValueError("a broken receiver")

    job_added.connect(broken)
    try:
        assert emails.add("a", id="x") is True
    finally:
        job_added.disconnect(broken)

    assert "a receiver of job_added raised" in caplog.text
    assert (emails.get("x") is not None, added) == (True, [("emails", "x")])


def test_a_notice_that_cannot_be_sent_costs_the_caller_nothing(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(queue: str) -> None:
        raise DatabaseError("the server is gone")

    monkeypatch.setattr(database("default"), "tell", broken)
    monkeypatch.setattr(notices, "_told", {})

    assert emails.add("a") is True
    assert "no notice of queue emails could be sent" in caplog.text


def test_one_notice_speaks_for_the_adds_that_follow_it_closely(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(database("default"), "tell", told.append)
    monkeypatch.setattr(notices, "_told", {})
    monkeypatch.setattr(notices, "QUIET", 60.0)

    for _ in range(5):
        emails.add("a")

    assert told == ["emails"]


def test_without_notify_nothing_is_told_to_the_database(
    emails: Queue[Any], heard: list[str], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TINYSTORE = {"NOTIFY": False}
    told: list[str] = []
    monkeypatch.setattr(database("default"), "tell", told.append)
    monkeypatch.setattr(notices, "_told", {})

    emails.add("a")

    assert (told, heard) == ([], ["emails"])


def test_a_move_of_the_clock_wakes_every_worker(heard: list[str], clock: Clock) -> None:
    heard.clear()

    clock.advance("1h")

    assert heard == [""]
