"""What an error tells of its database: whether it is only busy, and whether waiting mends it."""

from __future__ import annotations

import sqlite3

from django.db import DataError, IntegrityError

# By the first byte of SQLite's own code.
OF_SQLITE = {
    sqlite3.SQLITE_CANTOPEN: "its file or folder is not there, or may not be opened",
    sqlite3.SQLITE_READONLY: "its file or folder may not be written",
    sqlite3.SQLITE_CORRUPT: "its file is corrupt",
    sqlite3.SQLITE_NOTADB: "its file is corrupt, or no database",
    sqlite3.SQLITE_FULL: "its disk is full",
}
# By what a server says to one who connects: its code does not come with the driver's exception. All of the words.
OF_POSTGRESQL = {
    ('database "', "does not exist"): "no such database",
    ('role "', "does not exist"): "no such role",
    ("password authentication failed",): "wrong password",
    ("no password supplied",): "no password",
    ("no pg_hba.conf entry",): "the server lets nobody in from here",
    ("permission denied for database",): "its role may not connect",
}

# What a database, or its driver, says to the data of a statement and not to the connection. An OverflowError is
# SQLite's driver's, a UnicodeError psycopg's where the client has another encoding.
REFUSALS = (DataError, IntegrityError, OverflowError, UnicodeError)
# The class of PostgreSQL's codes for what a function raises in its own words, as a trigger of the project's does.
RAISED = "P0"


def is_refusal(error: BaseException) -> bool:
    """Whether a row was refused. A right or a table that is missing, maybe for a moment, refuses none."""
    return isinstance(error, REFUSALS) or (getattr(error.__cause__, "sqlstate", None) or "").startswith(RAISED)


def is_busy(error: BaseException) -> bool:
    """Whether a statement gave up waiting for SQLite's lock. It has done nothing, and may be tried again."""
    return _code(error) == sqlite3.SQLITE_BUSY


def beyond_waiting(error: BaseException) -> str | None:
    """Returns, in words, what is wrong with the database; None where it may answer again by itself."""
    if (code := _code(error)) is not None:
        return OF_SQLITE.get(code)
    cause = error.__cause__ or error
    if not type(cause).__module__.startswith("psycopg"):
        return None
    text = str(cause)
    return next((why for words, why in OF_POSTGRESQL.items() if all(word in text for word in words)), None)


def _code(error: BaseException) -> int | None:
    """Returns SQLite's code, without what is particular; None of another database's error."""
    cause = error.__cause__ or error
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF if isinstance(cause, sqlite3.Error) else None
