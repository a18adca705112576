"""Where the demo keeps its rows: a new database, gone afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from .facts import NotSo

# What `run.py demo --postgres` sets; without it, PGHOST and its kin say where the server is.
URL = "TINYSTORE_TEST_DATABASE_URL"


@dataclass(frozen=True)
class Place:
    """A folder for logs, and the environment that leads the shop's settings to its database."""

    name: str
    folder: Path
    environment: Mapping[str, str]


@contextmanager
def new_place(postgres: bool) -> Iterator[Place]:
    """A temporary folder with a SQLite file to be, or a new database on the server that the environment names."""
    with tempfile.TemporaryDirectory(prefix="tinystore-demo-") as folder:
        if not postgres:
            yield Place("SQLite", Path(folder), {"SHOP_SQLITE": f"{folder}/shop.sqlite3", "SHOP_POSTGRES": ""})
            return
        with _new_database() as environment:
            yield Place("PostgreSQL", Path(folder), environment)


@contextmanager
def _new_database() -> Iterator[Mapping[str, str]]:
    name = f"tinystore_demo_{os.getpid()}"
    with _server() as server:
        server.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            yield {"SHOP_POSTGRES": name, **_address(server)}
        finally:
            server.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _server() -> psycopg.Connection:
    url = os.environ.get(URL, "")
    if not url and "PGHOST" not in os.environ:
        raise NotSo("--postgres, and no PostgreSQL named: set PGHOST, or write python3 run.py demo --postgres")
    try:
        return psycopg.connect(url or _who(), autocommit=True)
    except psycopg.OperationalError as error:
        raise NotSo(f"--postgres, and the PostgreSQL that the environment names does not answer: {error}") from error


def _who() -> str:
    """The superuser and the database of a new server, unless the environment names others."""
    user, database = os.environ.get("PGUSER", "postgres"), os.environ.get("PGDATABASE", "postgres")
    return make_conninfo(user=user, dbname=database)


def _address(server: psycopg.Connection) -> Mapping[str, str]:
    info = server.info
    return {"PGHOST": info.host, "PGPORT": str(info.port), "PGUSER": info.user, "PGPASSWORD": info.password}
