"""Looks after a handler thread's connections between runs, so that no run hands its trouble to the next."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ..log import logger
from .beginnings import beginnings
from .kept import Kept, close, note_error

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
    care = Care(theirs, lent=True)
    try:
        with care:
            yield
    finally:
        care.end()


class Care:
    """Looks after connections of one thread, but for some aliases': a context manager around each of its handlers'
    runs. Those of a thread whose runs are at work at once are `shared`, those of a caller's are `lent`: what the
    caller has set on them is set again."""

    def __init__(self, theirs: Container[str] = (), shared: bool = False, lent: bool = False) -> None:
        self._theirs = theirs
        self._shared = shared
        self._lent = lent
        self._kept: dict[BaseDatabaseWrapper, Kept] = {}
        self._is_known = False  # whether these are the thread's connections
        self._unusable: set[str] = set()
        self._handled = False

    def __enter__(self) -> None:
        self.mend()
        self.watch()
        self._handled, _here.handles = _here.handles, True

    def __exit__(self, *error: object) -> None:
        """Rolls back and closes whatever is not as a fresh connection would be."""
        _here.handles = self._handled
        present = self._all()
        for connection in present:
            self._put_in_order(connection, self._kept.get(connection))
        self._is_known = self._is_known and present == list(self._kept)
        _here.changed.clear()

    def mend(self, idle: bool = True) -> None:
        """Closes those that died or were left in a transaction; if `idle`, the old and the changed ones as well."""
        if self._shared and idle:
            for connection in [one for one, kept in self._kept.items() if kept.changed()]:
                _drop(connection)
        if self._shared or not self._is_known:  # between two runs of a thread nothing puts another in their place
            self._know(self._all())
        for connection, kept in self._kept.items():
            if connection.connection is not None:
                if idle and connection.alias in _here.changed:
                    close(connection)
                    _here.changed.discard(connection.alias)
                else:
                    kept.prepare(idle)

    def _know(self, present: list[BaseDatabaseWrapper]) -> None:
        before, self._kept = self._kept, {one: self._kept.get(one) or Kept(one, self._shared) for one in present}
        for connection in before.keys() - self._kept.keys():  # a handler put another in its place
            _leave(connection, before[connection])
        self._is_known = True

    def watch(self) -> None:
        """Until `end`, has each of them looked at before its first statement of a run, and noted what a statement
        tells: that it changes the session, or that the connection is of no use."""
        for connection, kept in self._kept.items():
            if _note_change not in connection.execute_wrappers:
                connection.execute_wrappers.append(_note_change)
                kept.watch()

    def has_open(self) -> bool:
        """Whether any of them is connected; any thread may ask."""
        return any(connection.connection is not None for connection in self._kept)

    def _put_in_order(self, connection: BaseDatabaseWrapper, kept: Kept | None) -> None:
        try:
            changed = kept is not None and bool(kept.changed())
            if kept is not None and changed and self._lent:
                kept.restore()
            if connection.connection is not None:
                # One that the handler made, of another alias or in the place of this one's: nobody watched it.
                if kept is None or changed or connection.alias in _here.changed or kept.worn():
                    close(connection)
                connection.queries_log.clear()
        except Exception as error:  # of a backend or of what the handler has made of it
            logger.error("connection %r cannot be put in order: it is replaced", connection.alias, exc_info=error)
            self._replace(connection)
        else:
            if changed and not self._lent:
                self._replace(connection)

    def _replace(self, connection: BaseDatabaseWrapper) -> None:
        _drop(connection)
        self._is_known = False

    def _all(self) -> list[BaseDatabaseWrapper]:
        usable = (self._usable(alias) for alias in connections if alias not in self._theirs)
        return [one for one in usable if one is not None]

    def _usable(self, alias: str) -> BaseDatabaseWrapper | None:
        """This thread's connection of an alias; None where there is none, as without its driver: only who uses it
        minds, and hears so from Django."""
        if alias in self._unusable:
            return None
        try:
            return connections[alias]
        except Exception:
            self._unusable.add(alias)
            return None

    def end(self) -> None:
        """Has no change noted any more, in those where it was not before."""
        for connection, kept in self._kept.items():
            _leave(connection, kept)


def _leave(connection: BaseDatabaseWrapper, kept: Kept) -> None:
    # It need not be the last: the handler may have added some.
    if kept.is_watched and _note_change in connection.execute_wrappers:
        connection.execute_wrappers.remove(_note_change)
    kept.end()


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
        close(connection)


def _drop(connection: BaseDatabaseWrapper) -> None:
    """Has another made in its place, which knows nothing of what this one was given."""
    with suppress(Exception):
        close(connection)
    if connections[connection.alias] is connection:
        del connections[connection.alias]


def _note_change(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    if changes_session(_text_of(sql, context["connection"])):
        _here.changed.add(context["connection"].alias)
    try:
        return execute(sql, params, many, context)
    except DatabaseError as error:
        note_error(context["connection"], error)
        raise


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
