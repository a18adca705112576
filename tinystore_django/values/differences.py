"""Whether a value reads back as it was: the same types all through, nothing lost, nothing changed.

`==` alone does not say so: it takes a plain tuple for a NamedTuple and an enum's member for its text, passes
over fields that a class leaves out of it, and finds one moment in an hour that the clocks repeat to be two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from operator import eq
from types import NoneType
from typing import Any
from uuid import UUID

from ..errors import quoted
from .parts import DEEPEST, MISSING, Finding, field_names


def difference(value: Any, read: Any, plain: bool = False, depth: int = 0) -> Finding | None:
    """Returns where a value and what was read back for it differ, and how; None if they are the same.

    `plain` is for a queue without a type, where nothing may stand that JSON has not.
    """
    kind = type(read)
    if type(value) is kind and kind in _SIMPLE and value == read:
        return None
    if kind in _SAME:
        return _scalars(value, read, plain)
    if depth >= DEEPEST:
        return "", f"it nests deeper than {DEEPEST}"
    return _CONTAINERS.get(kind, _objects)(value, read, plain, depth + 1)


def _scalars(value: Any, read: Any, plain: bool) -> Finding | None:
    kind = type(read)
    # As for a type checker, a subclass will do, and an int for a float; a bool, though, is no number.
    fits = isinstance(value, (int, float) if kind is float else kind) and type(value) is not bool
    if not fits or (plain and isinstance(value, Enum)):
        return _unlike(value, read)
    return None if _SAME[kind](value, read) else _unlike(value, read)


def _same_moment(value: datetime | time, read: datetime | time) -> bool:
    offsets = value.utcoffset(), read.utcoffset()
    # A time in a zone whose clocks change has no offset, and is written as if it had no zone.
    zoned = value.tzinfo is not None, read.tzinfo is not None
    return zoned[0] == zoned[1] and offsets[0] == offsets[1] and value.replace(tzinfo=None) == read.replace(tzinfo=None)


def _dicts(value: Any, read: dict[Any, Any], plain: bool, depth: int) -> Finding | None:
    if not isinstance(value, dict):
        return _unlike(value, read)
    # JSON keeps the order of keys: the two go side by side up to the first that was changed or dropped.
    for (key, item), (read_key, read_item) in zip(value.items(), read.items(), strict=False):
        if difference(key, read_key, plain, depth):
            return "", f"its key {quoted(key)} would not read back"
        if found := difference(item, read_item, plain, depth):
            return f"[{quoted(key)}]{found[0]}", found[1]
    return None if len(value) == len(read) else ("", f"its keys would read back as {quoted([*read])}")


def _lists(value: Any, read: list[Any], plain: bool, depth: int) -> Finding | None:
    return _items(value, read, plain, depth) if isinstance(value, list) else _unlike(value, read)


def _tuples(value: Any, read: tuple[Any, ...], plain: bool, depth: int) -> Finding | None:
    return _items(value, read, plain, depth) if type(value) is tuple else _unlike(value, read)


def _items(value: Any, read: Any, plain: bool, depth: int) -> Finding | None:
    if len(value) != len(read):
        return _unlike(value, read)
    for index, (item, read_item) in enumerate(zip(value, read, strict=True)):
        if found := difference(item, read_item, plain, depth):
            return f"[{index}]{found[0]}", found[1]
    return None


def _sets(value: Any, read: Any, plain: bool, depth: int) -> Finding | None:
    if type(value) is not type(read) or len(value) != len(read):
        return _unlike(value, read)
    equal = {item: item for item in read}
    for item in value:
        candidates = [equal[item]] if item in equal else read
        if all(difference(item, candidate, plain, depth) for candidate in candidates):
            return "", f"its item {quoted(item)} would not read back"
    return None


def _objects(value: object, read: object, plain: bool, depth: int) -> Finding | None:
    kind = type(read)
    if type(value) is not kind:
        return _unlike(value, read)
    names = field_names(kind)
    for name in names:
        found = difference(getattr(value, name, MISSING), getattr(read, name, MISSING), plain, depth)
        if found:
            return f".{name}{found[0]}", found[1]
    return None if names or value == read else _unlike(value, read)


def _unlike(value: Any, read: Any) -> Finding:
    return "", f"{quoted(value)} would read back as {quoted(read)}"


# Types of which an equal one of the same type is the same.
_SIMPLE = frozenset({str, int, bool, NoneType, bytes, UUID, date, timedelta})

_SAME: dict[type, Callable[[Any, Any], bool]] = {
    **dict.fromkeys((str, int, bytes, UUID, date, timedelta), eq),
    float: lambda value, read: value == read and math.isfinite(read),
    Decimal: lambda value, read: value == read and read.is_finite(),
    datetime: _same_moment,
    time: _same_moment,
}

_CONTAINERS: dict[type, Callable[[Any, Any, bool, int], Finding | None]] = {
    dict: _dicts,
    list: _lists,
    tuple: _tuples,
    set: _sets,
    frozenset: _sets,
}
