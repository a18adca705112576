"""The event loop of async handlers, and Django's thread for the sync code that they call."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from tests.programs import wait_for
from tinystore_django import Store
from tinystore_django.worker import coroutines
from tinystore_django.worker.coroutines import Coroutines

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows with each look at that thread's connections."""
    looks: list[bool] = []
    mend = Coroutines._mend_there
    monkeypatch.setattr(coroutines, "LOOK", 60.0)  # none because the last was long ago
    monkeypatch.setattr(Coroutines, "_mend_there", lambda here, idle: looks.append(idle) or mend(here, idle))
    return looks


async def nothing(value: int) -> None:
    pass


async def connect(value: int) -> None:
    def there() -> None:
        connection.ensure_connection()

    await sync_to_async(there)()


@pytest.mark.parametrize(("handler", "looks_after"), [(nothing, 0), (connect, 5)])
def test_a_run_is_followed_by_a_look_at_connections_where_there_are_any(
    handler: Any, looks_after: int, shop: Store, looks: list[bool]
) -> None:
    queue = shop.queue("emails")
    queue.add_many(range(5))

    with queue.work(handler) as worker:
        wait_for(lambda: worker.settled == 5 and len(looks) >= 1 + looks_after)

    assert len(looks) == 1 + looks_after  # one before the first run
