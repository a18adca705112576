"""One connection of a thread that runs handlers, kept from run to run."""

from __future__ import annotations

import time
from contextlib import suppress

from django.db import DatabaseError, Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.functional import cached_property

from ..databases import VENDORS, database

# Seconds a healthy connection is kept where CONN_MAX_AGE is 0, Django's default, which is meant for requests: a
# worker that reconnects for each job loses most of its speed.
KEPT = 60.0
# Seconds without a query after which a connection is asked before the first query of a run, by a query of its own.
IDLE = 10.0
# Seconds for which a look at a connection's socket, which costs no query, is believed.
SEEN = 0.05

# The attributes that Django itself changes, as its backends connect and from query to query. Others are the
# project's, as a tenant's schema is.
DJANGOS = frozenset(
    {
        "connection", "autocommit", "in_atomic_block", "savepoint_state", "savepoint_ids", "atomic_blocks",
        "commit_on_exit", "needs_rollback", "rollback_exc", "close_at", "closed_in_transaction", "errors_occurred",
        "health_check_enabled", "health_check_done", "run_on_commit", "run_commit_hooks_on_set_autocommit_on",
        "isolation_level", "transaction_mode", "init_commands", "operators", "pattern_ops",
        "_named_cursor_idx", "close_if_health_check_failed",
    }
)  # fmt: skip
PLAIN = (str, int, float, bool, type(None))

_useless_since: dict[str, float] = {}  # by alias: when a statement told that its connection is alive and of no use


def note_error(connection: BaseDatabaseWrapper, error: DatabaseError) -> None:
    """Has every thread replace its connection of an alias where the error tells that it can do no work any more, as
    one to a server that has become read-only: each would else cost a job an attempt."""
    if connection.vendor in VENDORS and database(connection.alias).is_useless(error):
        _useless_since[connection.alias] = time.monotonic()


class Kept:
    """A connection with what is known of it. It stands in the place of Django's health check, to be asked before
    each first statement."""

    def __init__(self, connection: BaseDatabaseWrapper, shared: bool = False) -> None:
        self.connection = connection
        self.is_watched = False
        self._shared = shared  # by runs that are at work at once, so that any statement may be the first of one
        self._attributes = dict(vars(connection))
        self._unchanged = self._attributes  # all of them, as they were when they were last gone through
        self._first = True
        self._raw = connection.connection
        self._since = self._used_at = self._seen_at = time.monotonic()

    def watch(self) -> None:
        """Has it looked at before its first statement of each run."""
        if "close_if_health_check_failed" not in vars(self.connection):
            self.connection.close_if_health_check_failed = self._before_statement  # type: ignore[method-assign]
            self.is_watched = True

    def end(self) -> None:
        """Leaves that to Django again."""
        if self.is_watched:
            del self.connection.close_if_health_check_failed
            self.is_watched = False

    def prepare(self, idle: bool = True) -> None:
        """Closes it before a run if it died, is of no use or in a transaction; if `idle`, an old one as well."""
        connection = self.connection
        if connection.connection is not self._raw:
            self._raw, self._since = connection.connection, time.monotonic()
        if (idle and is_old(connection)) or not self._works():
            close(connection)
        self._first, self._seen_at = True, time.monotonic()
        connection.queries_log.clear()

    def _works(self) -> bool:
        connection = self.connection
        if self._since < _useless_since.get(connection.alias, 0.0) or not is_alive(connection):
            return False
        if connection.errors_occurred:  # as Django asks, at the end of a request
            connection.errors_occurred = not connection.is_usable()
        return not connection.errors_occurred and is_clean(connection)

    def worn(self) -> bool:
        """Whether the run that has just ended leaves it so that it is not to be kept."""
        if self.connection.connection is not self._raw:
            self._raw, self._since = self.connection.connection, self._seen_at
        if not self._first:
            self._used_at = time.monotonic()
        return self.connection.errors_occurred or is_pooled(self.connection) or not is_clean(self.connection)

    def changed(self) -> list[str]:
        """The attributes that code of the project's has given it since the beginning."""
        if self.connection.connection is None and type(self.connection).__module__.startswith("django."):
            return []
        if vars(self.connection) == self._unchanged:
            return []
        before = self._attributes
        changed = [
            name
            for name, value in vars(self.connection).items()
            if value is not before.get(name, self) and name not in DJANGOS and self._is_theirs(name, value)
        ]
        if not changed:
            self._unchanged = dict(vars(self.connection))
        return changed

    def _is_theirs(self, name: str, value: object) -> bool:
        if isinstance(getattr(type(self.connection), name, None), cached_property):
            return False
        return not (isinstance(value, PLAIN) and value == self._attributes.get(name, self))

    def restore(self) -> None:
        """Gives it the attributes that it had."""
        for name in self.changed():
            if name in self._attributes:
                setattr(self.connection, name, self._attributes[name])
            else:
                delattr(self.connection, name)

    def _before_statement(self) -> None:
        if self._first or self._shared:
            self._first = False
            self._look()
        type(self.connection).close_if_health_check_failed(self.connection)

    def _look(self) -> None:
        connection, now = self.connection, time.monotonic()
        alone = connection.connection is self._raw is not None and not connection.in_atomic_block
        if alone and connection.autocommit:
            asks = now - self._used_at > IDLE
            looks = asks or now - self._seen_at > SEEN
            if looks and not (connection.is_usable() if asks else is_alive(connection)):
                close(connection)
        self._used_at = self._seen_at = now


def is_alive(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor not in VENDORS or database(connection.alias).is_alive()


def is_clean(connection: BaseDatabaseWrapper) -> bool:
    """Whether it is alive and outside any transaction."""
    if connection.in_atomic_block or connection.needs_rollback:
        return False
    if connection.get_autocommit() != connection.settings_dict["AUTOCOMMIT"]:
        return False
    if connection.vendor in VENDORS and connection.settings_dict["AUTOCOMMIT"]:
        return database(connection.alias).is_clean()
    return True


def is_old(connection: BaseDatabaseWrapper) -> bool:
    close_at = connection.close_at
    if close_at is not None and connection.settings_dict["CONN_MAX_AGE"] == 0:
        close_at += KEPT
    return close_at is not None and time.monotonic() >= close_at


def is_pooled(connection: BaseDatabaseWrapper) -> bool:
    """Whether it is of Django's own pool: it goes back, or eight idle handlers would hold a pool of four for good."""
    return bool(connection.settings_dict["OPTIONS"].get("pool"))


def close(connection: BaseDatabaseWrapper) -> None:
    """Closes it, whatever state it is in."""
    # Inside an `atomic` block that a handler left open, Django's close() would keep it for the block's end.
    connection.in_atomic_block = False
    connection.savepoint_ids.clear()
    connection.needs_rollback = connection.closed_in_transaction = False
    connection.run_on_commit.clear()
    with suppress(Error):  # it is to be gone, whatever the driver says
        if connection.errors_occurred and is_pooled(connection) and connection.connection is not None:
            connection.connection.close()  # or its pool would hand on what went wrong with it, such as a plan
        connection.close()
