"""The level of what a worker does, where the server, the database or the role has a strict one as its default."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError, connection, transaction
from psycopg import IsolationLevel

from tests.programs import wait_for
from tests.races.helpers import together
from tinystore_django import Backoff, Concurrency, Queue, Run, Store, models
from tinystore_django.databases import database
from tinystore_django.databases.statements import Rows
from tinystore_django.worker.hold import drop

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

LEVEL = "select current_setting('transaction_isolation')"
RAISES_THE_DEFAULT = "alter database {name} set default_transaction_isolation = '{level}'"
RESETS_IT = "alter database {name} reset default_transaction_isolation"
# Whoever writes to a table leaves the level of it.
WATCHES = """
    create table levels (level text, statement text);
    create function note_level() returns trigger language plpgsql as $$ begin
      insert into levels values (current_setting('transaction_isolation'), current_query()); return null; end $$
"""
WATCHED = "create trigger levels after insert or update or delete on {table} execute function note_level()"
UNWATCHES = "drop function note_level cascade; drop table levels"


def sql(text: str, **names: str) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(text.format(**names))
        return cursor.fetchall() if cursor.description else []


@pytest.fixture(params=["repeatable read", "serializable"])
def strict(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every connection opened from now on has this level as its default."""
    name = str(connection.settings_dict["NAME"])
    sql(RAISES_THE_DEFAULT, name=name, level=request.param)
    connection.close()
    yield request.param
    sql(RESETS_IT, name=name)
    connection.close()


@pytest.fixture
def levels(strict: str) -> Iterator[None]:
    sql(WATCHES)
    for model in apps.get_app_config("tinystore_django").get_models():
        if not model._meta.proxy:
            sql(WATCHED, table=model._meta.db_table)
    yield
    sql(UNWATCHES)


@pytest.fixture
def loops() -> Iterator[None]:
    """This thread is a worker's loop."""
    store = database("default")
    store.own_thread()
    yield
    connection.execute_wrappers.clear()
    store._here.own = None
    drop("default")


def test_a_loops_statement_is_read_committed_whatever_the_default_is(strict: str, loops: None) -> None:
    store = database("default")

    assert store.run(LEVEL) == [("read committed",)]
    assert store.run_all([LEVEL, LEVEL], {}) == [[("read committed",)]] * 2
    with store.worker_transaction():
        assert store.run(LEVEL) == [("read committed",)]
    assert store.run(LEVEL) == [("read committed",)]
    assert sql(LEVEL) == [("read committed",)]  # what the ORM asks, too
    assert sql("show default_transaction_isolation") == [(strict,)]  # nothing is left in the session


def test_so_it_is_where_the_session_keeps_nothing(strict: str, loops: None, settings: Any) -> None:
    settings.TINYSTORE = {"NOTIFY": False}

    assert database("default").run(LEVEL) == [("read committed",)]
    assert sql("show default_transaction_isolation") == [(strict,)]


def test_so_are_the_statements_of_its_other_threads_and_none_outside_of_the_block(strict: str) -> None:
    store = database("default")

    with store.read_committed():
        assert store.run(LEVEL) == sql(LEVEL) == [("read committed",)]
        with transaction.atomic():  # as the ORM begins for a delete
            assert sql(LEVEL) == [("read committed",)]
    assert sql(LEVEL) == [(strict,)]
    with transaction.atomic():
        assert sql(LEVEL) == [(strict,)]


def test_the_callers_own_transactions_keep_their_level_behind_a_worker(strict: str) -> None:
    session = database("default").driver()
    session.isolation_level = IsolationLevel.SERIALIZABLE

    with database("default").worker_transaction():
        assert sql(LEVEL) == [("read committed",)]

    assert session.isolation_level == IsolationLevel.SERIALIZABLE
    with transaction.atomic():
        assert sql(LEVEL) == [("serializable",)]


def test_a_session_is_asked_for_its_default_once(loops: None, monkeypatch: pytest.MonkeyPatch) -> None:
    store = database("default")
    store.run(LEVEL)
    session = store.driver()
    asked = []
    monkeypatch.setattr(session, "execute", lambda *statement: asked.append(statement))

    store.run(LEVEL)

    assert asked == []


@pytest.fixture
def emails(shop: Store) -> Queue[str]:
    """A queue whose jobs make a worker write to every table."""
    return shop.queue(
        "emails",
        str,
        concurrency=Concurrency(total=2, group=1),
        rate="1000/s",
        group_rate="1000/s",
        backoff=Backoff("1ms", "1ms"),
        dedupe="1h",
        keep="1ms",
    )


def send(value: str, run: Run) -> Any:
    run.step("render", lambda: value)
    run.set_progress(1)
    if run.attempt == 1:
        return run.retry("1ms")
    return run.fail("no such address") if value == "bad" else None


def strict_writes() -> Rows:
    assert sql("select 1 from levels")
    return sql("select distinct level, statement from levels where level <> 'read committed'")


def add_some(queue: Queue[str]) -> None:
    for number in range(6):
        queue.add("bad" if number == 5 else "good", id=str(number), group=str(number % 2))
    sql("delete from levels")


@pytest.mark.parametrize("strict", ["serializable"], indirect=True)
@pytest.mark.parametrize("concurrency", [None, 2])
def test_all_that_run_due_writes_is_read_committed(
    levels: None, concurrency: int | None, emails: Queue[str], shop: Store
) -> None:
    shop.schedule("nightly", every="1h").handler(lambda: None)
    add_some(emails)

    assert emails.run_due(send, concurrency=concurrency) >= 6
    assert strict_writes() == []


@pytest.mark.parametrize("strict", ["serializable"], indirect=True)
def test_all_that_a_worker_writes_is_read_committed(levels: None, emails: Queue[str]) -> None:
    add_some(emails)

    with emails.work(send) as one:
        wait_for(lambda: one.settled >= 12)

    assert strict_writes() == []
    assert models.Minute.objects.exists()


def test_an_add_that_another_one_of_its_id_is_ahead_of_says_false(strict: str, shop: Store) -> None:
    emails = shop.queue("emails", str)
    said: list[bool] = []

    with ExitStack() as until_committed, transaction.atomic():
        emails.add("Ada", id="ada")
        until_committed.enter_context(together(lambda: said.append(emails.add("Ada", id="ada"))))
        wait_for(lambda: sql("select 1 from pg_locks where not granted"))

    assert said == [False]


def test_in_a_transaction_of_ones_own_such_an_add_is_an_error(strict: str, shop: Store) -> None:
    emails = shop.queue("emails", str)

    with transaction.atomic():
        emails.get("another")  # what the transaction sees is of now
        with together(lambda: emails.add("Ada", id="ada")):
            pass
        with pytest.raises(OperationalError, match="could not serialize access"):
            emails.add("Ada", id="ada")
        transaction.set_rollback(True)
