"""JSON of no type in particular: a step's answer, a run's progress."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import msgspec

from ..errors import CorruptError, InvalidError
from .codec import Codec
from .faults import fault
from .parts import DEEPEST, refused
from .places import stumble
from .writing import check_size, encode, has_nul, has_time, is_too_deep


def json_text(value: object, what: str, limit: int) -> str:
    """Returns anything that JSON can write as compact JSON: a dataclass or a date too, without its type.

    Raises InvalidError if JSON cannot write it, LimitError if it has more than `limit` bytes in UTF-8.
    """
    try:
        data = encode(value)
    except MemoryError:
        raise
    except Exception as error:  # a class of the program's own may raise anything as it is written
        found = fault(value, what, False, error) or stumble(error, what, b"", msgspec.json.decode)
        raise refused(found, what) from error
    check_size(data, what, limit)
    _check(value, data, what)
    return data.decode()


def _check(value: object, data: bytes, what: str) -> None:
    # msgspec writes NaN and infinities as null, and a time in a zone whose clocks change without its zone.
    suspect = b"null" in data or b"NaN" in data or b"Infinity" in data or has_nul(data) or has_time(data)
    if suspect and (found := fault(value, what, False)):
        raise refused(found, what)
    if is_too_deep(data):
        raise InvalidError(f"{what}: it nests deeper than {DEEPEST}")


def read_json(text: str, of: Any = Any) -> Any:
    """Returns what a JSON text says, as `of`. Raises CorruptError if it does not read as that."""
    return codec_of(of).read(text)


def read_loosely(text: str) -> Any:
    """Returns what a JSON text says; None where it does not read, or nests deeper than what was ever written."""
    try:
        read = read_json(text)
        return None if is_too_deep(text.encode()) else read
    except CorruptError:
        return None


def codec_of(of: Any) -> Codec[Any]:
    """Returns the codec of a type. Raises InvalidError unless JSON can keep values of that type."""
    return (_codec if isinstance(of, Hashable) else Codec)(of)


@lru_cache(maxsize=256)
def _codec(of: Any) -> Codec[Any]:
    return Codec(of)
