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
        InvalidError: its vendor is none of those that hold a queue, or its driver cannot be imported.
    """
    vendor = connections[alias].vendor
    if vendor not in VENDORS:
        raise InvalidError(f"database {alias!r} is {vendor}: queues live in {' or '.join(VENDORS)}")
    # Imported at its first use: psycopg cannot be imported where there is no libpq, and SQLite needs none.
    try:
        module = import_module(f".{vendor}", __name__)
    except ImportError as error:  # Django itself goes on with psycopg2
        driver = "install psycopg 3, as with tinystore-django[postgresql]"
        raise InvalidError(f"database {alias!r}: its driver cannot be imported: {error}: {driver}") from error
    chosen: type[Database] = getattr(module, VENDORS[vendor])
    return chosen(alias)
