"""A Django project of one file, for the queues that are Django apps."""

from __future__ import annotations

from typing import Any

import django
from django.conf import settings
from django.core.management import call_command

from tests.postgres import parse


def configure(url: str, apps: list[str], *, kept: bool = True, **more: Any) -> None:
    """Sets Django up with these apps on this database; `kept`: connections are."""
    database = {"ENGINE": "django.db.backends.postgresql", "CONN_MAX_AGE": None if kept else 0, **parse(url)}
    settings.configure(
        DATABASES={"default": database}, INSTALLED_APPS=apps, USE_TZ=True, SECRET_KEY="benchmarks", **more
    )
    django.setup()


def migrate() -> None:
    call_command("migrate", verbosity=0)
