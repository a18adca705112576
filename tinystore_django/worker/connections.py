"""Looks after a handler thread's connections between runs, so that no run hands its trouble to the next."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ..databases import VENDORS, database

# Seconds a healthy connection is kept where CONN_MAX_AGE is 0, Django's default, which is meant for requests: a
# worker that reconnects for each job loses most of its speed.
KEPT = 60.0

# Statements that change the session itself, which the next run must not inherit.
OF_THE_SESSION = ("SET ", "RESET ", "DISCARD ", "LISTEN ", "PRAGMA ", "ATTACH ", "DETACH ")

_here = threading.local()  # whether this thread is in a handler
_inherited: list[BaseDatabaseWrapper] = []


@contextmanager
def looked_after() -> Iterator[None]:
    """Runs a handler with this thread's connections checked before and put in order after."""
    mend()
    _here.handles = True
    changed: set[str] = set()
    with ExitStack() as stack:
        for alias in connections:
            stack.enter_context(connections[alias].execute_wrapper(_session_watch(changed)))
        try:
            yield
        finally:
            _here.handles = False
            _tidy(changed)


def mend(old: bool = True) -> None:
    """Closes connections that died or, if `old`, grew old while they were idle, or were left inside a transaction."""
    for connection in _open():
        if (old and _old(connection)) or not _alive(connection) or not _clean(connection):
            _close(connection)
        connection.queries_log.clear()


def _tidy(changed: set[str]) -> None:
    """Rolls back and closes whatever is not as a fresh connection would be."""
    for connection in _open():
        if connection.alias in changed or not _clean(connection) or is_pooled(connection):
            _close(connection)
        connection.queries_log.clear()


def _forget() -> None:
    """In a child process that a handler forked: it connects anew, and what it inherited stays its parent's.

    Two processes on one socket would break both, and closing it in the child would end it for the parent.
    """
    if getattr(_here, "handles", False):
        for connection in _open():
            _inherited.append(connection)
            del connections[connection.alias]


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget)


def close_all() -> None:
    """Closes this thread's connections, at its end."""
    for connection in _open():
        _close(connection)


def _session_watch(changed: set[str]) -> Callable[..., Any]:
    def watching(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if isinstance(sql, str) and sql.lstrip()[:8].upper().startswith(OF_THE_SESSION):
            changed.add(context["connection"].alias)
        return execute(sql, params, many, context)

    return watching


def _open() -> list[BaseDatabaseWrapper]:
    return [one for one in connections.all(initialized_only=True) if one.connection is not None]


def _alive(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor not in VENDORS or database(connection.alias).is_alive()


def _clean(connection: BaseDatabaseWrapper) -> bool:
    if connection.in_atomic_block or connection.get_autocommit() != connection.settings_dict["AUTOCOMMIT"]:
        return False
    if connection.vendor in VENDORS and connection.settings_dict["AUTOCOMMIT"]:
        return database(connection.alias).is_clean()
    return not connection.errors_occurred or connection.is_usable()


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
    with suppress(Error):  # it is to be gone, whatever the driver says
        connection.close()
