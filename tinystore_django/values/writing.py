"""Writing JSON, and what to look for in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import LimitError
from .hooks import encode_other
from .parts import DEEPEST

# Compact, with what is not ASCII as UTF-8.
encode = msgspec.json.Encoder(enc_hook=encode_other).encode

NUL_REFUSED = "take out U+0000, which PostgreSQL cannot keep"

# Behind an odd number of backslashes it is no escape but text: a backslash, then "u0000".
_TIME = re.compile(rb'"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"')
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def has_nul(data: bytes) -> bool:
    """Says whether some text in the JSON has a U+0000, which PostgreSQL could not keep."""
    return rb"\u0000" in data and _NUL.search(data) is not None


def has_time(data: bytes) -> bool:
    """Says whether some text in the JSON looks like a time of day without a zone."""
    return _TIME.search(data) is not None


def check_size(data: bytes, what: str, limit: int) -> None:
    """Raises LimitError if the JSON has more than `limit` bytes."""
    if len(data) > limit:
        raise LimitError(f"{what}: {len(data):,} bytes of JSON; at most {limit:,} can be kept")


def is_too_deep(data: bytes) -> bool:
    """Says whether lists and dicts stand more than DEEPEST deep in one another."""
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return False
    level: list[Any] = [msgspec.json.decode(data)]
    for _ in range(DEEPEST):
        level = [item for part in level for item in _items(part)]
    return any(isinstance(part, (list, dict)) for part in level)


def _items(part: Any) -> Iterable[Any]:
    return part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
