"""What every test may ask for, and which tests a run leaves to another one."""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.db import connections
from selenium.webdriver import Chrome

import tinystore_django
from tests import chromium
from tests.byhand import NOON, Hand
from tests.settings import CHOSEN
from tinystore_django import Store, registry, testing

OTHER = {"sqlite": "postgresql", "postgresql": "sqlite"}[CHOSEN]
PACKAGE = Path(tinystore_django.__file__).parent
# Folders whose tests come out the same on any database: the second run of `run.py test` leaves them out.
WITHOUT_DATABASE = {"timing", "values", "tooling", "docs"}

# django.tasks came with Django 6.0: on an older one the matrix alone runs these.
collect_ignore = ["test_backend.py"] if django.VERSION < (6, 0) else []


def pytest_configure(config: pytest.Config) -> None:
    """The matrix is about the built wheel: it must not test the checkout by accident."""
    installed = Path(sysconfig.get_path("purelib"))
    if os.environ.get("TINYSTORE_TEST_INSTALLED") and not PACKAGE.is_relative_to(installed):
        raise pytest.UsageError(f"tinystore_django came from {PACKAGE}, not from the wheel in {installed}")


def pytest_report_header() -> list[str]:
    return [
        f"django: {django.get_version()}, database: {CHOSEN}",
        f"tinystore_django: {PACKAGE}",
        *(f"left to Django 6.0 and later: {name}" for name in collect_ignore),
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out, rather than skips, what belongs to the run on the other database."""
    left = {OTHER}
    if os.environ.get("TINYSTORE_TEST_ONCE") == "done":
        left |= {"browser", "once", *WITHOUT_DATABASE}
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        words = {marker.name for marker in item.iter_markers()} | {item.path.parent.name}
        (others if words & left else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """SQLite's test databases are files, as workers in other threads and processes have to see them."""
    for connection in connections.all():
        if connection.vendor == "sqlite":
            file = tmp_path_factory.mktemp("databases") / f"{connection.alias}.sqlite3"
            connection.settings_dict["TEST"]["NAME"] = str(file)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """Every program that a test starts finds the test's databases by this name."""
    names = {alias: connections[alias].settings_dict["NAME"] for alias in connections}
    os.environ["TINYSTORE_TEST_NAMES"] = json.dumps(names, default=str)
    yield
    del os.environ["TINYSTORE_TEST_NAMES"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A headless chromium, for tests marked `browser`; one for the session, so tests clear their cookies."""
    if missing := chromium.missing():
        pytest.skip(missing)
    chrome = chromium.start(tmp_path_factory.mktemp("chromium"))
    yield chrome
    chrome.quit()


@pytest.fixture
def clock() -> Iterator[testing.Clock]:
    """A clock that stands at noon until the test moves it."""
    with testing.clock(NOON) as moved:
        yield moved


@pytest.fixture(autouse=True)
def undeclared() -> Iterator[None]:
    """A store that a test makes is not in the next one's way, however late it is collected."""
    before = set(registry._registries)
    yield
    for made in set(registry._registries) - before:
        made.declarations.clear()


@pytest.fixture
def shop() -> Store:
    """A store of the test's own, so that a queue's name is free in each test."""
    return Store()


@pytest.fixture
def hand(clock: testing.Clock) -> Hand:
    """A worker by hand, on the default database."""
    return Hand()
