from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.byhand import Hand
from tinystore_django import Queue, Store
from tinystore_django.options import Backoff
from tinystore_django.testing import Clock


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue whose done jobs keep their ids for an hour, and whose retries wait a minute, more or less."""
    return shop.queue("emails", attempts=3, backoff=Backoff("1m", "1m"), dedupe="1h")


@pytest.fixture
def running(emails: Queue[Any], hand: Hand) -> Callable[..., Any]:
    """Adds a job "x" and starts it."""

    def start(**about: Any) -> Any:
        emails.add("old", id="x", **about)
        return hand.take_one(emails)

    return start
