"""Which types a queue may have: those whose values JSON can keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ..errors import InvalidError, brief, quoted
from .hooks import decode_other, is_model, is_pydantic


def decoder_for(of: Any) -> Callable[[str | bytes], Any]:
    """Returns the function that reads JSON as `of`. Raises InvalidError if JSON cannot keep such values."""
    try:
        shape = msgspec.inspect.type_info(of)
        decode = msgspec.json.Decoder(of, dec_hook=decode_other).decode
    except NameError as error:
        raise InvalidError(
            f"type {_name(of)}: {brief(str(error))} in its module, where its annotations must be"
        ) from error
    except Exception as error:  # annotations are code, and may raise anything
        raise InvalidError(
            f"type {_name(of)}: {brief(str(error))}; write one that JSON can keep: a dataclass"
        ) from error
    for found in _classes(shape):
        if not (found is object or is_pydantic(found)):
            raise InvalidError(_refusal(of, found))
    return decode


def _classes(shape: object) -> Iterator[type]:
    """Yields each class in a type that is none of msgspec's own."""
    waiting, seen = [shape], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, msgspec.inspect.CustomType):
            yield part.cls
        elif isinstance(part, (tuple, list)):
            waiting.extend(part)
        elif isinstance(part, (msgspec.inspect.Type, msgspec.inspect.Field)):
            waiting.extend(msgspec.structs.astuple(part))


def _refusal(of: object, found: type) -> str:
    where = _name(of) if of is found else f"{_name(of)} with {_name(found)} in it"
    if is_model(found):
        return f"type {where}: a model's instance is not kept; send its pk, and write the pk's type, as int"
    return f"type {where}: JSON cannot keep {_name(found)}; write a dataclass, or a type of plain values"


def _name(of: object) -> str:
    return brief(of.__qualname__) if isinstance(of, type) else quoted(of)
