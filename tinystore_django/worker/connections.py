"""Looks after a handler thread's connections between runs, so that no run hands its trouble to the next."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ..databases import VENDORS, database
from .beginnings import beginnings

# Seconds a healthy connection is kept where CONN_MAX_AGE is 0, Django's default, which is meant for requests: a
# worker that reconnects for each job loses most of its speed.
KEPT = 60.0

# What a statement that changes the session itself begins with: the next run must not inherit it.
OF_THE_SESSION = re.compile(
    r"""
    (?: set (?! \s+ local \b) | reset | discard | listen | pragma | attach | detach
      | create \s+ (?: (?: local | global ) \s+ )? temp (?: orary )? ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
SET_CONFIG = re.compile(r"\bset_config\s*+\(", re.IGNORECASE)


class _Here(threading.local):
    handles = False  # whether this thread is in a sync handler

    def __init__(self) -> None:
        self.changed: set[str] = set()  # the aliases whose session was changed


_here = _Here()
_inherited: list[BaseDatabaseWrapper] = []


@contextmanager
def looked_after(theirs: Container[str] = ()) -> Iterator[None]:
    """Runs a handler with this thread's connections checked before and put in order after, but for those of the
    aliases that are the caller's, who is inside a transaction on them."""
    care = Care(theirs)
    try:
        with care:
            yield
    finally:
        care.end()


class Care:
    """Looks after connections of one thread, but for some aliases': a context manager around each of its handlers'
    runs."""

    def __init__(self, theirs: Container[str] = ()) -> None:
        self._theirs = theirs
        self._connections = self._all()
        self._watched: list[BaseDatabaseWrapper] = []
        self._handled = False

    def __enter__(self) -> None:
        self.mend()
        self.watch()
        self._handled, _here.handles = _here.handles, True

    def __exit__(self, *error: object) -> None:
        """Rolls back and closes whatever is not as a fresh connection would be."""
        _here.handles = self._handled
        before, self._connections = self._connections, self._all()
        for connection in self._connections:
            if connection.connection is not None:
                # One that the handler made, of another alias or in the place of this one's: nobody watched it.
                if connection not in before or _worn_by_run(connection) or not _clean(connection):
                    _close(connection)
                connection.queries_log.clear()
        _here.changed.clear()

    def mend(self, idle: bool = True) -> None:
        """Closes those that died or were left in a transaction; if `idle`, the old and the changed ones as well."""
        for connection in self._connections:
            if connection.connection is not None:
                if (idle and _worn(connection)) or not _alive(connection) or not _clean(connection):
                    _close(connection)
                connection.queries_log.clear()

    def watch(self) -> None:
        """Has it noted when a statement changes the session of one of them, until `end`."""
        for connection in self._connections:
            if _note_change not in connection.execute_wrappers:
                connection.execute_wrappers.append(_note_change)
                self._watched.append(connection)

    def has_open(self) -> bool:
        """Whether any of them is connected; any thread may ask."""
        return any(connection.connection is not None for connection in self._connections)

    def _all(self) -> Sequence[BaseDatabaseWrapper]:
        return [connections[alias] for alias in connections if alias not in self._theirs]

    def end(self) -> None:
        """Has no change noted any more, in those where it was not before."""
        for connection in self._watched:
            if _note_change in connection.execute_wrappers:  # it need not be the last: the handler may have added some
                connection.execute_wrappers.remove(_note_change)


def _forget() -> None:
    """In a child process that a handler forked: it connects anew, and what it inherited stays its parent's.

    Two processes on one socket would break both, and closing it in the child would end it for the parent.
    """
    if _here.handles:
        for connection in _open():
            _inherited.append(connection)
            del connections[connection.alias]


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget)


def close_all() -> None:
    """Closes this thread's connections, at its end."""
    for connection in _open():
        _close(connection)


def _note_change(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    if changes_session(_text_of(sql, context["connection"])):
        _here.changed.add(context["connection"].alias)
    return execute(sql, params, many, context)


def changes_session(sql: str) -> bool:
    """Says whether a text has a statement that changes the session itself."""
    if any(OF_THE_SESSION.match(sql, begins) for begins in beginnings(sql)):
        return True
    return "set_config" in sql.lower() and SET_CONFIG.search(sql) is not None


def _text_of(sql: Any, connection: BaseDatabaseWrapper) -> str:
    """A statement as text; psycopg also takes bytes, and what its `sql` module composes."""
    if isinstance(sql, bytes):
        return sql.decode(errors="replace")
    return str(sql.as_string(connection.connection) if hasattr(sql, "as_string") else sql)


def in_transaction() -> set[str]:
    """The aliases on which this thread has a transaction open, or manages them by hand."""
    return {one.alias for one in _open() if one.in_atomic_block or not one.autocommit}


def _open() -> list[BaseDatabaseWrapper]:
    return [one for one in connections.all(initialized_only=True) if one.connection is not None]


def _alive(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor not in VENDORS or database(connection.alias).is_alive()


def _clean(connection: BaseDatabaseWrapper) -> bool:
    if connection.in_atomic_block or connection.needs_rollback:
        return False
    if connection.get_autocommit() != connection.settings_dict["AUTOCOMMIT"]:
        return False
    if connection.vendor in VENDORS and connection.settings_dict["AUTOCOMMIT"]:
        return database(connection.alias).is_clean()
    return not connection.errors_occurred or connection.is_usable()


def _worn_by_run(connection: BaseDatabaseWrapper) -> bool:
    return connection.alias in _here.changed or is_pooled(connection)


def _worn(connection: BaseDatabaseWrapper) -> bool:
    return connection.alias in _here.changed or _old(connection)


def _old(connection: BaseDatabaseWrapper) -> bool:
    close_at = connection.close_at
    if close_at is not None and connection.settings_dict["CONN_MAX_AGE"] == 0:
        close_at += KEPT
    return close_at is not None and time.monotonic() >= close_at


def is_pooled(connection: BaseDatabaseWrapper) -> bool:
    """Whether it is of Django's own pool: it goes back, or eight idle handlers would hold a pool of four for good."""
    return bool(connection.settings_dict["OPTIONS"].get("pool"))


def _close(connection: BaseDatabaseWrapper) -> None:
    # Inside an `atomic` block that a handler left open, Django's close() would keep it for the block's end.
    connection.in_atomic_block = False
    connection.savepoint_ids.clear()
    connection.needs_rollback = connection.closed_in_transaction = False
    connection.run_on_commit.clear()
    _here.changed.discard(connection.alias)
    with suppress(Error):  # it is to be gone, whatever the driver says
        connection.close()
