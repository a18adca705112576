"""What is SQLite's alone: how a lease is renewed while others write."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from tests.byhand import Hand, rolled_back
from tinystore_django import Store
from tinystore_django.databases import database
from tinystore_django.lifecycle import leasing

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]

SECOND = 1_000_000


@pytest.fixture
def writer() -> Any:
    """Another connection that takes the lock, and lets it go when it is told."""
    locked, free = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            locked.set()
            free.wait(30)
        connections.close_all()

    thread = threading.Thread(target=write)
    thread.start()
    assert locked.wait(30)
    yield free
    free.set()
    thread.join()


def busy_timeout() -> int:
    return int(database("default").run("pragma busy_timeout")[0][0])


def test_a_lease_is_renewed_as_soon_as_the_lock_is_free(hand: Hand, writer: threading.Event) -> None:
    before = busy_timeout()
    threading.Timer(0.3, writer.set).start()

    assert leasing.renew("default", hand.lease, 30 * SECOND) is not None
    assert busy_timeout() == before == 20_000


def test_a_lock_that_is_not_let_go_ends_the_renewal_while_the_lease_lasts(hand: Hand, writer: threading.Event) -> None:
    began = time.monotonic()

    with pytest.raises(OperationalError, match="locked"):
        leasing.renew("default", hand.lease, SECOND)

    assert 0.3 < time.monotonic() - began < 5
    assert busy_timeout() == 20_000


@pytest.mark.parametrize("released", ['"released" = 0', 'not "released"'])
def test_ids_are_taken_however_djangos_version_writes_their_index(released: str, shop: Store) -> None:
    queue = shop.queue("emails")
    with rolled_back(), connections["default"].cursor() as cursor:
        cursor.execute("drop index tinystore_job_key")
        cursor.execute(
            "create unique index tinystore_job_key on tinystore_django_job (queue, key) "
            f'where ("key" is not null and {released})'
        )

        assert [queue.add(None, id="x"), queue.add(None, id="x")] == [True, False]
        assert queue.add_many(["x", "y"], id=str) == 1


def test_a_database_in_memory_is_seen_by_its_own_thread_alone_however_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = {}
    for name in ("file::memory:?cache=shared", ":memory:", "file:jobs.sqlite3?mode=rwc"):
        monkeypatch.setitem(connection.settings_dict, "NAME", name)
        alone[name] = database("default").is_alone()

    assert list(alone.values()) == [True, True, False]
