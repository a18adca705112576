"""The level of what a worker does, where the server, the database or the role has a strict one as its default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError, connection, transaction
from psycopg import IsolationLevel

from tests.programs import wait_for
from tests.races.helpers import together, waits_for_a_lock
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
    with store.own_transaction():
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

    with database("default").own_transaction():
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


LIMITS: dict[str, Any] = {
    "a total": {"concurrency": 2},
    "limits": {"concurrency": Concurrency(total=2, group=1), "rate": "1000/s", "group_rate": "1000/s"},
}


@pytest.fixture(params=LIMITS)
def emails(request: pytest.FixtureRequest, shop: Store) -> Queue[str]:
    """A queue whose jobs make a worker write to every table."""
    backoff = Backoff("1ms", "1ms")
    return shop.queue("emails", str, backoff=backoff, dedupe="1h", keep="1ms", **LIMITS[request.param])


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


CALLS: dict[str, Callable[[Queue[str]], object]] = {
    "add": lambda queue: queue.add("Ada", id="ada"),
    "add_many": lambda queue: queue.add_many(["Ada"], id=lambda name: "ada"),
    "set": lambda queue: queue.set("ada", "Ada"),
    "update": lambda queue: queue.update("ada", "Ada"),
    "cancel": lambda queue: queue.cancel("ada"),
}


@pytest.mark.parametrize("strict", ["serializable"], indirect=True)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("before", [False, True], ids=["a free id", "a taken id"])
def test_a_call_that_waited_for_another_ones_transaction_answers_by_what_that_left(
    call: str, before: bool, strict: str, shop: Store
) -> None:
    emails = shop.queue("emails", str)
    if before:
        emails.add("Bob", id="ada")
    said: list[object] = []

    with ExitStack() as until_committed, transaction.atomic():
        emails.set("ada", "Cyd")
        until_committed.enter_context(together(lambda: said.append(CALLS[call](emails))))
        wait_for(lambda: waits_for_a_lock() or said)

    # On a free id update and cancel find none, as nothing is committed yet.
    waits = before or call not in ("update", "cancel")
    assert said == [{"add": False, "add_many": 0, "set": None}.get(call, waits)]
    kept = emails.get("ada")
    replaced = call == "set" or (call == "update" and waits)
    assert (kept and kept.value) == (None if call == "cancel" and waits else "Ada" if replaced else "Cyd")


def test_in_a_transaction_of_ones_own_such_an_add_is_an_error(strict: str, shop: Store) -> None:
    emails = shop.queue("emails", str)

    with transaction.atomic():
        emails.get("another")  # what the transaction sees is of now
        with together(lambda: emails.add("Ada", id="ada")):
            pass
        with pytest.raises(OperationalError, match="could not serialize access"):
            emails.add("Ada", id="ada")
        transaction.set_rollback(True)
