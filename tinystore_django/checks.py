"""What a wrong installation is told by `manage.py check`. Only what `--database` asks for touches one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connections

from . import conf
from .databases import VENDORS, database
from .discovery import unfound
from .errors import InvalidError, quoted
from .registry import Declaration, declared
from .values import first_line
from .worker.startup import unfit, unmigrated

NOT_DURABLE = re.compile(r"pragma\s+synchronous\s*=\s*(off|normal|0|1)\b", re.IGNORECASE)
WITHOUT_HANDLER = (
    "write @NAME.handler above a function in an app's jobs.py, or silence this where another project runs it"
)
OLDEST_SQLITE = (3, 35)  # the first with RETURNING


@register()
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """E001: TINYSTORE holds a setting that there is not, or that cannot be."""
    readers: list[Callable[[], object]] = [_check_names, conf.lease, conf.poll, conf.grace, conf.notify, conf.redact]
    return [Error(problem, id="tinystore.E001") for problem in dict.fromkeys(filter(None, map(_problem, readers)))]


@register()
def check_databases(**kwargs: Any) -> list[CheckMessage]:
    """E002 to E004: a database that cannot hold a queue. W001: a commit there may be lost with the machine's power."""
    aliases = sorted({declaration.alias for declaration in declared()})
    return [message for alias in aliases for message in _check_database(alias)]


@register(Tags.database)
def check_ready(databases: Collection[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """E006: a migrated database that can hold no queue, by `check --database` and `migrate`, which may ask it."""
    aliases = {declaration.alias for declaration in declared()}.intersection(databases or ())
    faults = [_unready(alias) for alias in sorted(aliases) if not _check_database(alias)]
    return [Error(fault, id="tinystore.E006") for fault in faults if fault]


def _unready(alias: str) -> str | None:
    try:
        return None if unmigrated(alias) else unfit(alias)
    except ProgrammingError as error:
        return f"database {quoted(alias)}: {first_line(str(error))}: grant its role select on django_migrations"


@register()
def check_files(**kwargs: Any) -> list[CheckMessage]:
    """W002: a file that declares queues or handlers where no worker finds it."""
    texts = [(f"{file} declares queues or handlers, and no worker imports it", hint) for file, hint in unfound()]
    return [Warning(text, hint, id="tinystore.W002") for text, hint in texts]


@register()
def check_handlers(**kwargs: Any) -> list[CheckMessage]:
    """W003: a queue or a schedule that no installed app has a handler of."""
    without = [one for one in declared() if one.handler is None]
    return [Warning(_without_handler(one), WITHOUT_HANDLER, id="tinystore.W003") for one in without]


def _without_handler(one: Declaration) -> str:
    file, line = one.site
    return f"{one.kind} {one.name!r}, declared in {file}:{line}, has no handler in any installed app: no worker runs it"


def _check_names() -> None:
    if unknown := set(conf.chosen()) - set(conf.DEFAULTS):
        raise InvalidError(f"TINYSTORE {quoted(sorted(unknown))}: the settings are {', '.join(conf.DEFAULTS)}")


def _problem(read: Callable[[], object]) -> str | None:
    try:
        read()
    except InvalidError as error:
        return str(error)
    return None


def _check_database(alias: str) -> list[CheckMessage]:
    if alias not in connections:
        return [Error(f"a queue is in database {quoted(alias)}, which DATABASES does not name", id="tinystore.E002")]
    try:
        vendor = connections[alias].vendor
    except ImproperlyConfigured as error:  # its driver is not installed
        return [Error(f"a queue is in database {quoted(alias)}: {first_line(str(error))}", id="tinystore.E002")]
    if vendor not in VENDORS:
        hint = f"use {' or '.join(VENDORS)}, or name another alias: Store(using=...)"
        return [Error(f"a queue is in database {quoted(alias)}, which is {vendor}", hint, id="tinystore.E002")]
    try:
        database(alias)
    except InvalidError as error:
        return [Error(str(error), id="tinystore.E002")]
    return [*_check_autocommit(alias), *(_check_sqlite(alias) if vendor == "sqlite" else [])]


def _check_autocommit(alias: str) -> list[CheckMessage]:
    if connections[alias].settings_dict["AUTOCOMMIT"]:
        return []
    text = f"database {alias!r} has AUTOCOMMIT False: no worker's connection would commit, and its jobs would run again"
    return [Error(text, "leave it True, and use transaction.atomic", id="tinystore.E004")]


def _check_sqlite(alias: str) -> list[CheckMessage]:
    import sqlite3

    messages: list[CheckMessage] = []
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        hint = "use a Python with SQLite 3.35 or later"
        messages.append(Error(f"SQLite {sqlite3.sqlite_version} is too old", hint, id="tinystore.E003"))
    commands = str(connections[alias].settings_dict["OPTIONS"].get("init_command", ""))
    if NOT_DURABLE.search(commands):
        hint = "leave synchronous out of init_command, or set it to FULL or EXTRA"
        text = f"database {quoted(alias)}: a job added just before the machine loses its power may be lost"
        messages.append(Warning(text, hint, id="tinystore.W001"))
    return messages
