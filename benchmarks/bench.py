"""What the benchmarks share: a database of their own, durable as a site's would be, and a queue of no-ops."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection

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

# A time before which no benchmark's jobs are due.
LONG_AGO = datetime(1960, 1, 1, tzinfo=UTC)

CHURN = """
    insert into tinystore_django_job (queue, "group", value, at, due)
    select 'noop', 'g' || (n %% 100), '0', n, n from {numbers}
"""


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
    return Postgres(durable=True, tcp=True) if db == "postgresql" else nullcontext()


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


def raw() -> closing[Any]:
    """A connection of the driver's own to the project's database, in autocommit: what a bare loop is made on."""
    connection.ensure_connection()
    at = connection.get_connection_params()
    if connection.vendor == "sqlite":
        import sqlite3

        driver = sqlite3.connect(at["database"], timeout=20, isolation_level=None, check_same_thread=False)
        driver.execute("pragma synchronous = full")
        return closing(driver)
    import psycopg

    names = ("host", "port", "user", "dbname")
    return closing(psycopg.connect(autocommit=True, **{name: at[name] for name in names}))


def race(rounds: int, named: str, bare: Callable[[], float], ways: Mapping[str, Callable[[], float]]) -> None:
    """Has the bare loop and each way in turn give its rate, so many times. Shows the median of each, and of its ratios
    to the bare loop of the same round: what disturbs one round disturbs both."""
    rates = [[way() for way in (bare, *ways.values())] for _ in range(rounds)]
    baselines, *others = zip(*rates, strict=True)
    show(named, median(baselines))
    for what, of in zip(ways, others, strict=True):
        rate = median(of)
        show(what, rate, rate / median(one / base for one, base in zip(of, baselines, strict=True)), "it")


def show(what: str, rate: float, baseline: float | None = None, named: str = "the bare loop") -> None:
    """Prints a rate, and its ratio to a baseline of the same run."""
    ratio = "" if baseline is None else f"   {rate / baseline:5.2f} of {named}"
    print(f"{what:44} {rate:10,.0f} jobs/s{ratio}", flush=True)


def tidy() -> None:
    """What autovacuum does in time: dead rows go, statistics come."""
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze tinystore_django_job" if connection.vendor == "postgresql" else "analyze")


def numbered(sql: str) -> str:
    """A statement that selects from {numbers}: n from 1 to the parameter `jobs`."""
    if connection.vendor == "postgresql":
        return sql.replace("{numbers}", "generate_series(1, %(jobs)s) n")
    numbers = "with recursive s(n) as (select 1 union all select n + 1 from s where n < %(jobs)s)"
    return f"{numbers} {sql.replace('{numbers}', 's')}"


def churn(jobs: int) -> None:
    """Adds, claims and settles so many jobs of the queue of no-ops in a few statements, as bare SQL."""
    with connection.cursor() as cursor:
        cursor.execute(numbered(CHURN), {"jobs": jobs})
        started = "update tinystore_django_job set state = 1, run = run + 1, started_at = %s where queue = 'noop'"
        cursor.execute(started, [time.time_ns() // 1000])
        cursor.execute("delete from tinystore_django_job where queue = 'noop'")


def drained(
    jobs: int,
    handlers: int,
    groups: int = 0,
    at: datetime | None = None,
    max_jobs: int | None = None,
    **options: Any,
) -> float:
    """Jobs a second at which one worker drains so many no-ops, which are added before."""
    from tinystore_django import Store, Worker

    queue = Store().queue("noop", int, **options)
    queue.handler(lambda value: None)
    queue.add_many(range(1, jobs + 1), group=(lambda number: f"g{number % groups}") if groups else None, at=at)
    worker = Worker([queue._declaration], concurrency=handlers, until_idle=True, max_jobs=max_jobs)
    began = time.monotonic()
    worker.start().wait()
    seconds = time.monotonic() - began
    if worker.settled != jobs:
        raise SystemExit(f"{worker.settled} of {jobs} jobs were run under {options}")
    return jobs / seconds
