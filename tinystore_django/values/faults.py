"""What is wrong with a value that cannot be kept, and where in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any

from ..errors import brief, quoted
from .hooks import UnwritableError, is_model
from .parts import DEEPEST, Finding, parts
from .text import UNKEPT, name_of

_IN_JSON = (dict, list, str, int, float, NoneType)
_NO_KEYS = (bool, NoneType, tuple, frozenset)


def fault(value: Any, what: str, plain: bool, error: Exception | None = None) -> Finding | None:
    """Returns the first part of a value that no row can keep, by the way to it, and why; else None.

    `plain` is for a queue without a type; `error` is what writing or reading the value raised.
    """
    culprit = error.value if isinstance(error, UnwritableError) else object()
    for path, part in _all(value, what):
        if why := _wrong(part, path, plain):
            return path, why
        if part is culprit:
            return path, f"JSON has no {type(part).__name__}; give its parts, in a dataclass or as text"
    return None


def _all(value: Any, what: str) -> Iterator[Finding]:
    """Yields a value and what is in it, in order, as deep as a value may be."""
    waiting, seen = [(what, value, 0)], set[int]()
    while waiting:
        path, part, depth = waiting.pop()
        yield path, part
        if id(part) not in seen and depth <= DEEPEST:  # what holds itself has no end
            seen.add(id(part))
            waiting += reversed([(path + way, item, depth + 1) for way, item in parts(part)])


def _wrong(part: Any, path: str, plain: bool) -> str | None:
    if is_model(type(part)):
        return f"it is a model's instance: send its pk, {path}.pk, and get the row in the handler"
    # Before isinstance, which would have it fetch its row.
    if hasattr(type(part), "_wrapped"):
        return f"it is lazy, as request.user is: send the pk of what it stands for, {path}.pk"
    if isinstance(part, dict):
        return _wrong_key(part, plain)
    if why := _wrong_scalar(part):
        return why
    if plain and (isinstance(part, Enum) or not isinstance(part, _IN_JSON)):
        return f"JSON has no {type(part).__name__}; give the queue a type, as in store.queue(name, Email)"
    return None


def _wrong_key(part: dict[Any, Any], plain: bool) -> str | None:
    for key in part:
        if why := _wrong_scalar(key):
            return f"its key {quoted(key)}: {why}"
        if plain and (isinstance(key, Enum) or not isinstance(key, str)):
            return f"its key {quoted(key)} is no text; give the queue a type, as dict[int, str]"
        if isinstance(key, _NO_KEYS):
            return f"JSON has no key {quoted(key)}; write it as text"
    return None


def _wrong_scalar(part: Any) -> str | None:
    if isinstance(part, time) and part.tzinfo is not None and part.utcoffset() is None:
        return "its zone has no offset without a date; give a datetime, or the zone's name beside a time without one"
    if isinstance(part, str) and (found := UNKEPT.search(part)):
        return f"take out {name_of(found[0])}, which PostgreSQL cannot keep"
    infinite = isinstance(part, float) and not math.isfinite(part)
    if infinite or (isinstance(part, Decimal) and not part.is_finite()):
        return f"JSON has no {brief(str(part), 20)}; give a finite number, or None"
    return None
