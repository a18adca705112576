"""What the benchmarks share: a database of their own, durable as a site's would be, and a queue of no-ops."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command

from tests.postgres import Postgres


def arguments(description: str) -> argparse.ArgumentParser:
    """The options every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--db", choices=["postgresql", "sqlite"], default="postgresql")
    parser.add_argument("--jobs", type=int, default=10_000)
    return parser


# What a project with Django's admin has beside our app.
ADMIN: dict[str, Any] = {
    "INSTALLED_APPS": [
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "django.contrib.staticfiles",
        "tinystore_django",
    ],
    "MIDDLEWARE": [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    "TEMPLATES": [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    "ROOT_URLCONF": "tests.project.urls",
    "STATIC_URL": "static/",
    "ALLOWED_HOSTS": ["*"],
}


@contextmanager
def project(db: str, **more: Any) -> Iterator[None]:
    """A project with our app, migrated, in a temporary database with fsync on; and with more settings."""
    with tempfile.TemporaryDirectory() as folder, _server(db) as server:
        database = _sqlite(folder) if server is None else _postgresql(server)
        os.environ["TINYSTORE_BENCHMARKS_DATABASE"] = json.dumps(database, default=str)  # for benchmarks/settings.py
        settings.configure(
            DATABASES={"default": database},
            **{"INSTALLED_APPS": ["tinystore_django"], "USE_TZ": True, "SECRET_KEY": "benchmarks", **more},
        )
        django.setup()
        call_command("migrate", verbosity=0)
        yield


def _server(db: str) -> Any:
    return Postgres(durable=True) if db == "postgresql" else nullcontext()


def _sqlite(folder: str) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(folder) / "bench.sqlite3",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
    }


def _postgresql(server: Postgres) -> dict[str, Any]:
    # TCP, as a site with a server of its own would have it; the folder's socket would flatter us.
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": server.port,
        "USER": "postgres",
        "NAME": "postgres",
    }


def show(what: str, rate: float, baseline: float | None = None, named: str = "the bare loop") -> None:
    """Prints a rate, and its ratio to a baseline of the same run."""
    ratio = "" if baseline is None else f"   {rate / baseline:5.2f} of {named}"
    print(f"{what:44} {rate:10,.0f} jobs/s{ratio}", flush=True)
