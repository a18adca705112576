"""What level a session's transactions have, where nothing says it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from psycopg import Connection, IsolationLevel

READ_COMMITTED = "set transaction isolation level read committed"  # of the open one, before its first question
# The server takes the first for the second.
LOOSE = ("read uncommitted", "read committed")

_strict: WeakKeyDictionary[Connection, bool] = WeakKeyDictionary()


def is_strict(session: Connection) -> bool:
    """Whether what begins on a session next is stricter than READ COMMITTED: a transaction by what the project chose,
    else, as a statement of its own, by what the server, the database or the role has as its default."""
    if not session.autocommit and session.isolation_level is not None:
        return session.isolation_level > IsolationLevel.READ_COMMITTED
    return _is_strict_by_default(session)


def _is_strict_by_default(session: Connection) -> bool:
    if session not in _strict:  # asked once
        row = session.execute("show default_transaction_isolation").fetchone()
        _strict[session] = row is not None and row[0] not in LOOSE
    return _strict[session]
