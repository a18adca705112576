"""A project's data migration that adds jobs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.sites import django

JOBS = """
from tinystore_django import store
emails = store.queue("emails")
emails.handler(print)
"""
MIGRATION = """
from django.db import migrations
from shop.jobs import emails

def add(apps, schema_editor):
    emails.in_(schema_editor.connection).add("ada", id="7")
    {more}

class Migration(migrations.Migration):
    dependencies = [{dependencies}]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
"""
NEWEST = '("tinystore_django", "0002_storage")'


def migrated(folder: Path, dependencies: str = NEWEST, more: str = "") -> str:
    """What migrate says; "" if it went well."""
    migration = MIGRATION.format(dependencies=dependencies, more=more)
    files = {"shop/migrations/__init__": "", "shop/migrations/0001_welcome": migration, "shop/jobs": JOBS}
    (folder / "shop").mkdir()
    return django(folder, "migrate -v0", **files).stderr


def jobs(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "db.sqlite3")) as database:
        return database.execute("select queue, key from tinystore_django_job").fetchall()


def test_the_job_of_a_migration_that_depends_on_ours_is_there_with_it(tmp_path: Path) -> None:
    assert migrated(tmp_path) == ""
    assert jobs(tmp_path) == [("emails", "7")]


def test_the_job_of_a_migration_that_fails_is_rolled_back_with_it(tmp_path: Path) -> None:
    assert "ZeroDivisionError" in migrated(tmp_path, more="1 / 0")
    assert jobs(tmp_path) == []


def test_a_migration_that_does_not_may_run_before_the_tables_are_there(tmp_path: Path) -> None:
    assert "no such table: tinystore_django_job" in migrated(tmp_path, dependencies="")


@pytest.mark.checkout
def test_the_newest_of_our_migrations_is_the_one_that_the_guide_names() -> None:
    root = Path(__file__).resolve().parent.parent
    newest = max(path.stem for path in (root / "tinystore_django" / "migrations").glob("0*.py"))

    assert f'("tinystore_django", "{newest}")' in (root / "docs" / "guides" / "transactions.md").read_text()
