"""What a worker's session on PostgreSQL keeps prepared, and what it does where it may keep nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from psycopg.errors import InvalidSqlStatementName

from tests.byhand import Hand
from tests.databases.test_plans import vacuum
from tinystore_django import Queue, Store
from tinystore_django.databases import database, postgresql_kept
from tinystore_django.databases.base import Database
from tinystore_django.databases.rows import Held

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

MANY = 20_000
FILL = (
    "insert into tinystore_django_job (queue, value, at, due) select 'emails', '1', n, n from generate_series(1, %s) n"
)
USUAL = 6  # a plan is kept once a statement was planned five times


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database as a worker's own thread has it."""
    connection.close()
    store = database("default")
    store.own_thread()
    yield store
    monkeypatch.undo()
    connection.execute_wrappers.clear()
    store._here.own = None
    connection.close()


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


def kept() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("select statement from pg_prepared_statements where name like 'tinystore%%'")
        return [text for (text,) in cursor.fetchall()]


def pages(store: Database) -> int:
    """The pages of jobs that a claim of one reads."""
    read = "select pg_stat_get_xact_blocks_fetched('tinystore_django_job'::regclass)"
    with transaction.atomic():
        before = store.run(read)[0][0]
        assert len(store.claim(1, {"emails": 1}).held) == 1
        return int(store.run(read)[0][0] - before)


@pytest.mark.parametrize("totals", [None, {"emails": 10**6}], ids=str)
def test_a_claim_is_planned_once_a_second_and_not_each_time(totals: Any, own: Database, emails: Queue[Any]) -> None:
    own.limits.open(["emails"])
    with connection.cursor() as cursor:
        cursor.execute(FILL, [MANY])
    vacuum()
    held: list[Held] = []
    for _ in range(2 * USUAL):
        held = own.claim(1, {"emails": 10}, [one.fence for one in held], totals).held

    with connection.cursor() as cursor:
        cursor.execute("select custom_plans from pg_prepared_statements where statement like '%%claimed as%%'", [])
        assert cursor.fetchall() == [(USUAL - 1,)]


def test_a_workers_session_keeps_each_statement_once(own: Database) -> None:
    for _ in range(3):
        own.claim(1, {"emails": 1})
    own.claim(1, {"emails": 1}, totals={"emails": 1})

    assert len([text for text in kept() if "claimed as" in text]) == 2
    assert len(kept()) == len(set(kept()))


def test_what_is_kept_does_what_it_did(own: Database, emails: Queue[Any], hand: Hand) -> None:
    emails.add("a", id="x")
    (held,) = own.claim(hand.lease, {"emails": 1}).held

    assert (held.key, held.queue, held.attempt, held.group) == ("x", "emails", 1, None)
    assert own.claim(hand.lease, {"emails": 1}, [held.fence]).removed == {held.fence}


def test_a_session_that_may_keep_nothing_keeps_nothing(own: Database, settings: Any) -> None:
    settings.TINYSTORE = {"NOTIFY": False}

    own.claim(1, {"emails": 1})

    assert kept() == []


def test_a_session_that_forgets_is_noticed_and_asked_without(
    own: Database, emails: Queue[Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "_keeps", True)
    emails.add("a")
    own.claim(1, {"other": 1})
    with connection.cursor() as cursor:
        cursor.execute("deallocate all")  # as behind a pooler, where the next transaction is another session's

    assert len(own.claim(1, {"emails": 1}).held) == 1
    assert [record.message for record in caplog.records if "set NOTIFY to False" in record.message]
    assert kept() == []


def test_a_transaction_that_a_forgotten_statement_broke_is_the_callers_to_make_again(
    own: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "_keeps", True)
    own.claim(1, {"emails": 1})
    with connection.cursor() as cursor:
        cursor.execute("deallocate all")

    with pytest.raises(DatabaseError) as error, transaction.atomic():
        own.claim(1, {"emails": 1})

    assert isinstance(error.value.__cause__, InvalidSqlStatementName)
    assert own.claim(1, {"emails": 1}).held == []


def test_a_plan_made_for_an_empty_table_is_made_anew(own: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_kept, "FRESH", 1e9)
    vacuum()
    for _ in range(USUAL):
        own.claim(1, {"emails": 1})
    with connection.cursor() as cursor:
        cursor.execute(FILL, [MANY])
    assert pages(own) > 300

    monkeypatch.setattr(postgresql_kept, "FRESH", 0)
    assert pages(own) < 60
