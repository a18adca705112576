"""What is kept of an ended job, and until when exactly."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.byhand import Hand, after, shown
from tinystore_django import Queue
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("kind", "kept"), [("done", timedelta(hours=1)), ("failed", timedelta(days=7))])
def test_an_ended_job_is_there_until_its_time_exactly(
    kind: Any, kept: timedelta, emails: Queue[Any], hand: Hand, running: Callable[..., Any], clock: Clock
) -> None:
    held = running()
    clock.advance("10s")
    hand.end(held, kind)
    end = after(seconds=10) + kept

    clock.set(end - timedelta(microseconds=1))
    before = (emails.get("x") is not None, emails.add("new", id="x"))
    clock.set(end)
    at_the_end = (emails.get("x") is not None, emails.cancel("x"), emails.update("x", "new"))

    assert before == (True, False)
    assert at_the_end == (False, False, False)
    assert emails.add("new", id="x") is True
    assert emails.get("x").state == "waiting"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["done", "failed"])
def test_set_of_a_job_past_its_time_adds_afresh(
    kind: Any, emails: Queue[Any], hand: Hand, running: Callable[..., Any], clock: Clock
) -> None:
    hand.end(running(group="g"), kind)
    clock.advance("7d")

    emails.set("x", "new")

    assert shown(emails.get("x")) == ("new", "waiting", after(days=7), 0, None, None, False)


def test_a_done_job_that_set_adds_again_has_nothing_of_the_first(
    emails: Queue[Any], hand: Hand, running: Callable[..., Any]
) -> None:
    hand.end(running(group="g", every=None))
    emails.set("x", "new")

    hand.end(hand.take_one(emails), "retry", "no luck", delay=60_000_000)

    assert emails.get("x").attempt == 1  # type: ignore[union-attr]
    assert emails.add("newer", id="x") is False
