"""A handler thread's connections, looked after between runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections, transaction

from tests.project.models import Order
from tinystore_django.worker.connections import Care, close_all, looked_after

pytestmark = pytest.mark.django_db(transaction=True)


def raw() -> Any:
    """The driver's connection under Django's."""
    connection.ensure_connection()
    return connection.connection


def test_a_healthy_connection_is_kept_for_the_next_run() -> None:
    before = raw()

    with looked_after():
        Order.objects.create(email="ada")
        with transaction.atomic():
            Order.objects.count()

    assert connection.connection is before
    assert Order.objects.count() == 1


def test_a_transaction_left_open_is_rolled_back() -> None:
    with looked_after():
        block = transaction.atomic()
        block.__enter__()
        Order.objects.create(email="ada")

    assert not connection.in_atomic_block
    assert not Order.objects.exists()


def test_what_a_left_open_transaction_had_for_its_commit_is_never_called() -> None:
    called: list[str] = []
    with looked_after():
        transaction.atomic().__enter__()
        transaction.on_commit(lambda: called.append("of the one before"))

    with looked_after(), transaction.atomic():
        transaction.on_commit(lambda: called.append("its own"))

    assert called == ["its own"]


def test_autocommit_left_off_is_on_again() -> None:
    with looked_after():
        transaction.set_autocommit(False)
        Order.objects.create(email="ada")

    assert transaction.get_autocommit()
    assert not Order.objects.exists()


def test_a_transaction_begun_by_hand_is_rolled_back() -> None:
    with looked_after(), connection.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("insert into project_order (email, paid) values ('ada', %s)", [False])

    assert not Order.objects.exists()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("set statement_timeout = '7s'", marks=pytest.mark.postgresql),
        pytest.param("  LISTEN somewhere", marks=pytest.mark.postgresql),
        pytest.param("set\n statement_timeout = '7s'", marks=pytest.mark.postgresql),
        pytest.param("/* why; */ -- and\n set statement_timeout = '7s'", marks=pytest.mark.postgresql),
        pytest.param("select 1; SET statement_timeout = '7s'", marks=pytest.mark.postgresql),
        pytest.param(b"set statement_timeout = '7s'", marks=pytest.mark.postgresql),
        pytest.param("select Set_Config('app.tenant', '7', false)", marks=pytest.mark.postgresql),
        pytest.param("create temporary table project_order (id int)", marks=pytest.mark.postgresql),
        pytest.param("pragma case_sensitive_like = on", marks=pytest.mark.sqlite),
        pytest.param("/* why */pragma case_sensitive_like = on", marks=pytest.mark.sqlite),
    ],
)
def test_a_session_that_was_changed_is_not_handed_on(statement: Any) -> None:
    before = raw()

    with looked_after(), connection.cursor() as cursor:
        cursor.execute(statement)

    assert connection.connection is not before


@pytest.mark.postgresql
def test_a_session_that_a_composed_statement_changed_is_not_handed_on() -> None:
    from psycopg import sql

    before = raw()

    with looked_after(), connection.cursor() as cursor:
        cursor.execute(sql.SQL("set search_path to {}").format(sql.Identifier("nowhere")))

    assert connection.connection is not before


@pytest.mark.parametrize(
    "statement",
    [
        "select 1 -- set it\n",
        "update project_order set email = ';' where email = 'set me'",
        pytest.param("set  Local statement_timeout = '7s'", marks=pytest.mark.postgresql),
    ],
)
def test_a_statement_that_leaves_the_session_alone_costs_no_connection(statement: str) -> None:
    before = raw()

    with looked_after(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)

    assert connection.connection is before


def test_a_mark_for_rollback_left_outside_a_block_is_gone() -> None:
    with looked_after():
        raw()
        connection.needs_rollback = True

    assert Order.objects.count() == 0


def test_wrappers_that_came_with_a_connection_stay_and_no_other_does() -> None:
    def trace(execute: Any, *arguments: Any) -> Any:
        return execute(*arguments)

    with looked_after():
        connection.execute_wrappers.append(trace)

    assert connection.execute_wrappers == [trace]
    connection.execute_wrappers.clear()


def test_a_connection_that_a_handler_closed_under_django_is_replaced() -> None:
    with looked_after():
        raw().close()

    with looked_after():
        assert Order.objects.count() == 0


def test_a_connection_that_died_while_idle_is_noticed_before_the_run() -> None:
    raw().close()

    Care().mend()

    assert connection.connection is None
    assert Order.objects.count() == 0


def test_a_broken_transaction_does_not_break_the_next_run() -> None:
    with looked_after():
        block = transaction.atomic()
        block.__enter__()
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("select from nowhere at all")

    with looked_after():
        Order.objects.create(email="ada")
    assert Order.objects.count() == 1


@pytest.mark.parametrize(("age", "idle", "kept"), [(0, 59, True), (0, 61, False), (5, 4, True), (5, 6, False)])
def test_an_idle_connection_is_kept_for_its_age_or_a_minute_where_that_is_none(
    age: int, idle: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", age)
    before = raw()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + idle)

    Care().mend()

    assert (connection.connection is before) is kept
    connection.close()


def test_without_an_age_a_connection_is_kept_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
    before = raw()
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)

    Care().mend()

    assert connection.connection is before
    connection.close()


def test_a_run_that_raises_is_tidied_up_after_too() -> None:
    with suppress(ValueError), looked_after():
        transaction.set_autocommit(False)
        raise ValueError("no luck")

    assert transaction.get_autocommit()


def test_the_queries_of_a_run_are_forgotten_under_debug(settings: Any) -> None:
    settings.DEBUG = True

    with looked_after():
        Order.objects.count()
        during = len(connection.queries)

    assert (during, len(connection.queries)) == (1, 0)


def test_at_a_threads_end_its_connections_are_closed() -> None:
    raw()

    close_all()

    assert connection.connection is None


def leave_open(alias: str) -> None:
    transaction.atomic(using=alias).__enter__()
    with connections[alias].cursor() as cursor:
        cursor.execute("select 1")


@contextmanager
def cared_for() -> Iterator[Care]:
    """The care of this thread's connections, which stay those of other tests."""
    care = Care()
    yield care
    care.end()


def test_a_connection_that_a_handler_put_in_the_place_of_ours_is_looked_after_as_well() -> None:
    before = connections["default"]
    with cared_for() as care:
        with care:
            connections["default"] = type(before)(before.settings_dict, "default")
            leave_open("default")
        assert connections["default"].connection is None

        with care:
            leave_open("default")
        assert not connections["default"].in_atomic_block
    connections["default"] = before
    assert before.execute_wrappers == []


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_a_database_that_a_handler_named_at_its_run_is_looked_after_as_well() -> None:
    named = connections.databases.pop("other")
    with cared_for() as care:
        with care:
            connections.databases["other"] = named
            leave_open("other")
        assert connections["other"].connection is None

        with care:
            leave_open("other")
        assert not connections["other"].in_atomic_block
