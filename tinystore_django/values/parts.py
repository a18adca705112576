"""What an object is made of, how one writes the way to each part, and tells of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from ..errors import InvalidError, brief, quoted
from .hooks import is_pydantic

# Where a part is, as `value.lines[2].price`, and what is the matter with it.
Finding = tuple[str, str]

_LONGEST_WAY = 200

# Whoever reads a value may be deep in calls already: what is written stays far from the end of the stack.
DEEPEST = 200

MISSING = object()


def _field_names(of: Any) -> tuple[str, ...]:
    """Returns the fields of a dataclass, NamedTuple, msgspec.Struct or pydantic model; else none."""
    if is_pydantic(of):
        return (*of.model_fields, "__pydantic_extra__", "__pydantic_private__")
    for names in ("__dataclass_fields__", "__struct_fields__", "_fields"):
        if hasattr(of, names):
            return tuple(getattr(of, names))
    return ()


# Spelled out, as mypy takes no `type[object]` for hashable.
field_names: Callable[[type], tuple[str, ...]] = lru_cache(maxsize=1024)(_field_names)


def parts(value: object) -> Iterator[tuple[str, Any]]:
    """Yields each part of an object, after the way to it: `.price`, `['price']`, `[2]`."""
    if names := field_names(type(value)):
        for name in names:
            yield f".{name}", getattr(value, name, MISSING)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"[{quoted(key)}]", item
    elif isinstance(value, (list, tuple, set, frozenset)):
        for index, item in enumerate(value):
            yield f"[{index}]", item


def refused(found: Finding, what: str) -> InvalidError:
    """Returns the error about a value that cannot be kept."""
    return InvalidError(told(found), without_values=f"{what}: it cannot be kept as JSON of its type")


def told(found: Finding) -> str:
    """Returns a finding as an error's text has it."""
    way, why = found
    return f"{brief(way, _LONGEST_WAY)}: {brief(why)}"
