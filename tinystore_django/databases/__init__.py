"""All raw SQL, one module a vendor, behind one narrow seam."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from django.db import connections

from ..errors import InvalidError
from .base import Database

VENDORS = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


@cache
def database(alias: str) -> Database:
    """The database behind an alias.

    Raises:
        InvalidError: its vendor is none of those that hold a queue.
    """
    vendor = connections[alias].vendor
    if vendor not in VENDORS:
        raise InvalidError(f"database {alias!r} is {vendor}: queues live in {' or '.join(VENDORS)}")
    # Imported at its first use: psycopg cannot be imported where there is no libpq, and SQLite needs none.
    chosen: type[Database] = getattr(import_module(f".{vendor}", __name__), VENDORS[vendor])
    return chosen(alias)
