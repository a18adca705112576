"""Statements that a session keeps prepared. To plan the claim takes PostgreSQL as long as to make it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from weakref import WeakKeyDictionary

from psycopg import Connection, Cursor

from .statements import PARAMETER

# What PREPARE takes; the rest has no plan.
PLANNED = re.compile(r"(?<!\s)\s*+(?:with|select|insert|update|delete)\b")
# Seconds that a plan is kept. It was made for the table's size then, and an empty one is read from end to end.
FRESH = 1.0


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the session keeps it, and how it is called there with the parameters it had."""

    name: str
    prepare: str
    execute: str


@cache
def statement(sql: str) -> Statement:
    """The name says what it is: behind a pooler, another worker's statement would be the same or have another name."""
    parameters = list(dict.fromkeys(PARAMETER.findall(sql)))
    numbered = PARAMETER.sub(lambda found: f"${parameters.index(found[1]) + 1}", sql).replace("%%", "%")
    name = f"tinystore_{sha256(numbered.encode()).hexdigest()[:16]}"
    if not parameters:
        return Statement(name, f"prepare {name} as {numbered}", f"execute {name}")
    # Where a test clock stands for the server's, nothing else says that it is a number.
    types = ", ".join("bigint" if parameter == "now" else "unknown" for parameter in parameters)
    given = ", ".join(f"%({parameter})s" for parameter in parameters)
    return Statement(name, f"prepare {name}({types}) as {numbered}", f"execute {name}({given})")


@dataclass(slots=True)
class Kept:
    """What one session keeps."""

    names: set[str] = field(default_factory=set)
    planned_at: float = field(default_factory=time.monotonic)

    def calls(self, cursor: Cursor, statements: Sequence[str]) -> list[str]:
        """How statements are called, once they are prepared and their plans are not old."""
        if time.monotonic() - self.planned_at > FRESH:
            cursor.execute("discard plans")
            self.planned_at = time.monotonic()
        return [self._call(cursor, sql) for sql in statements]

    def _call(self, cursor: Cursor, sql: str) -> str:
        if not PLANNED.match(sql):
            return sql
        kept = statement(sql)
        if kept.name not in self.names:
            cursor.execute(kept.prepare)
            self.names.add(kept.name)
        return kept.execute


_sessions: WeakKeyDictionary[Connection, Kept] = WeakKeyDictionary()


def kept_by(session: Connection) -> Kept:
    """What a session keeps; each is used by one thread at a time."""
    return _sessions.setdefault(session, Kept())
