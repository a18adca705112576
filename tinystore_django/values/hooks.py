"""What msgspec does not know: pydantic's models, and subclasses of text and numbers."""

from __future__ import annotations

from typing import Any

import msgspec


class UnwritableError(TypeError):
    """Raised while writing, at an object that has no JSON; `value` is that object."""

    def __init__(self, value: object) -> None:
        super().__init__(f"{type(value).__name__} has no JSON")
        self.value = value


def encode_other(value: Any) -> Any:
    """Returns what to write for an object that msgspec cannot."""
    if is_pydantic(type(value)):
        # round_trip leaves out computed fields; a wrongly typed field is found when it is read back.
        return value.model_dump(mode="json", by_alias=True, round_trip=True, warnings=False)
    # Not isinstance, which would have a lazy object fetch what it stands for.
    if issubclass(type(value), str):
        return str.__str__(value)
    if issubclass(type(value), int):
        return int.__int__(value)
    if issubclass(type(value), float):
        return float.__float__(value)
    raise UnwritableError(value)


def decode_other(of: Any, value: Any) -> Any:
    """Returns the object of a type that msgspec does not know, from the JSON written for it."""
    if is_pydantic(of):
        return _validated(of, value)
    return value


def _validated(of: Any, value: Any) -> Any:
    try:
        # From JSON: only there does a strict model take text for a date, an array for a set.
        return of.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        if not hasattr(error, "errors"):
            raise
        # pydantic's own text takes four lines for each field.
        first = error.errors()[0]
        way = ".".join(map(str, first["loc"]))
        raise ValueError(f"{way}: {first['msg']}" if way else first["msg"]) from error


def is_pydantic(of: type) -> bool:
    """Says whether a class is a pydantic model, without importing pydantic, which a project may not have."""
    return hasattr(of, "model_dump") and hasattr(of, "model_validate_json")


def is_model(of: object) -> bool:
    """Says whether a class is a Django model, without loading Django's database layer."""
    return isinstance(of, type) and hasattr(of, "_meta") and hasattr(of, "pk")
