"""What a wrong installation is told by `manage.py check`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import override_settings

from tinystore_django import InvalidError, Store
from tinystore_django.checks import check_databases, check_ready, check_settings
from tinystore_django.databases import database
from tinystore_django.worker import startup


def told(messages: list[CheckMessage]) -> list[tuple[str | None, str]]:
    return [(message.id, str(message.msg)) for message in messages]


def test_a_good_installation_is_told_nothing() -> None:
    assert told(check_settings() + check_databases()) == []


def test_each_setting_that_cannot_be_is_an_error() -> None:
    with override_settings(
        TINYSTORE={"LEASE": "soon", "POLL": 5, "GRACE": "x", "NOTIFY": "no", "LESE": "1s", "REDACT": "no.such"}
    ):
        messages = told(check_settings())

    assert {id for id, _ in messages} == {"tinystore.E001"}
    assert len(messages) == 6
    assert messages[0][1] == "TINYSTORE ['LESE']: the settings are LEASE, POLL, GRACE, NOTIFY, REDACT"


def test_settings_that_are_no_dictionary_are_one_error() -> None:
    with override_settings(TINYSTORE="30s"):
        assert [id for id, _ in told(check_settings())] == ["tinystore.E001"]


def test_they_are_among_the_checks_that_django_runs() -> None:
    from django.core.management.base import SystemCheckError

    with override_settings(TINYSTORE={"POLL": 5}), pytest.raises(SystemCheckError, match=r"tinystore.E001"):
        call_command("check", stdout=StringIO(), stderr=StringIO())


@pytest.fixture
def elsewhere() -> Iterator[Store]:
    store = Store(using="nowhere")
    yield store
    store._registry.declarations.clear()


def test_a_queue_in_a_database_there_is_not_is_an_error(elsewhere: Store) -> None:
    elsewhere.queue("emails")

    assert told(check_databases()) == [
        ("tinystore.E002", "a queue is in database 'nowhere', which DATABASES does not name")
    ]


def test_a_queue_in_a_database_that_cannot_hold_one_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle", raising=False)

    (message,) = check_databases()

    assert (message.id, message.msg) == ("tinystore.E002", "a queue is in database 'default', which is oracle")
    assert message.hint == "use postgresql or sqlite, or name another alias: Store(using=...)"


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("command", "warns"),
    [
        ("PRAGMA synchronous=NORMAL;", True),
        ("PRAGMA journal_mode=WAL; pragma  synchronous = 1", True),
        ("PRAGMA synchronous=off", True),
        ("PRAGMA synchronous=FULL", False),
        ("PRAGMA synchronous=EXTRA;", False),
        ("PRAGMA synchronous=2", False),
        ("", False),
    ],
)
def test_a_sqlite_whose_commit_may_be_lost_is_a_warning(
    command: str, warns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"init_command": command})

    assert [message.id for message in check_databases()] == (["tinystore.W001"] if warns else [])


@pytest.mark.sqlite
def test_a_sqlite_that_is_too_old_is_an_error(monkeypatch: Any) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 9))

    assert [message.id for message in check_databases()] == ["tinystore.E003"]


def test_a_database_that_never_commits_by_itself_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "AUTOCOMMIT", False)

    messages = told(check_databases())

    assert [id for id, _ in messages] == ["tinystore.E004"]
    assert "AUTOCOMMIT" in messages[0][1]


@pytest.mark.django_db
def test_a_database_that_does_not_keep_every_text_is_an_error_of_check_and_of_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Store()
    store.queue("emails")
    monkeypatch.setattr(database("default"), "encoding", lambda: "LATIN1")
    error = "database 'default' is LATIN1, which does not keep every text: make one with the encoding UTF8"

    assert told(check_ready(databases=["default"])) == [("tinystore.E006", error)]
    assert check_ready(databases=None) == []
    with pytest.raises(InvalidError, match="LATIN1"):
        startup.check_ready("default")


@pytest.mark.postgresql
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("forbidden", "why"),
    [
        ("django_migrations", "permission denied for table django_migrations: grant its role select"),
        ("tinystore_django_lease", "permission denied for tinystore_django_lease: grant its role select, insert"),
    ],
)
def test_a_role_without_rights_is_an_error_in_one_line(forbidden: str, why: str) -> None:
    Store().queue("emails")
    with connection.cursor() as cursor:
        cursor.execute(
            "create role clerk; grant select, insert, update, delete on all tables in schema public to clerk; "
            f"revoke all on {forbidden} from clerk; set local role clerk"
        )

    with pytest.raises(InvalidError, match=why) as error, transaction.atomic():
        startup.check_ready("default")
    with transaction.atomic():
        (message,) = check_ready(databases=["default"])
        transaction.set_rollback(True)

    assert message.id == "tinystore.E006"
    assert why in str(message.msg)
    assert "\n" not in str(error.value)


@pytest.mark.django_db
def test_a_good_database_is_told_nothing() -> None:
    assert check_ready(databases=["default"]) == []


@pytest.mark.postgresql
def test_a_postgresql_without_psycopg_3_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Store().queue("emails")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "tinystore_django.databases.postgresql")
    database.cache_clear()
    try:
        messages = told(check_databases())
    finally:
        database.cache_clear()

    assert [id for id, _ in messages] == ["tinystore.E002"]
    assert "install psycopg 3" in messages[0][1]


def test_a_driver_that_django_cannot_import_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Store(using="other").queue("emails")

    def unusable(self: object, alias: str) -> object:
        raise ImproperlyConfigured("Error loading psycopg2 or psycopg module")

    monkeypatch.setattr(type(connections), "__getitem__", unusable)

    assert {id for id, _ in told(check_databases())} == {"tinystore.E002"}
