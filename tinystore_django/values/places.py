"""Where in a JSON text its reader stumbled, with the keys for which msgspec says `[...]`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import quoted
from .parts import Finding

Decode = Callable[[bytes | str], Any]

_AT, _IN_KEY = " - at `", "key` in `"
_KIND = "(?:int|float|number|str|bool|null|bytes|array|object|set|date|datetime|time|duration|timedelta|uuid|decimal)"
# What msgspec says of a type alone, behind a way of fields and indexes.
_BARE = re.compile(
    rf"""
    \A (?: \.\w{{1,100}} | \[[0-9]{{1,20}}\] | \[\.\.\.\] ){{0,200}} :\ (?: its\ key:\ )?
    (?: it\ is\ not\ of\ its\ type
      | Expected\ {_KIND} (?: \ \|\ {_KIND} ){{0,9}} (?: ,\ got\ {_KIND} )?
      | Expected\ {_KIND} \ (?: of\ length\ )? [<>]=?\ -?[0-9.]{{1,20}}
      | Object\ missing\ required\ field\ \w{{1,100}}
      | Input\ data\ was\ truncated | JSON\ is\ malformed:\ [a-z\ ]{{1,100}}\ \(byte\ [0-9]{{1,20}}\)
      | Invalid\ (?: UUID | decimal\ string | base64\ encoded\ string )
      | Invalid\ RFC3339\ encoded\ (?: date | datetime | time ) )
    """,
    re.VERBOSE,
)
_STEP = re.compile(r"\[\.\.\.\]|\[\d+\]|\.[^.\[]+")


def stumble(error: Exception, what: str, text: bytes | str, decode: Decode) -> Finding:
    """Returns the way to what `decode` could not read in the text, and why, from the error it raised."""
    if isinstance(error, RecursionError):
        return what, "it nests too deep, or holds itself"
    why, path, in_key = _split(str(error))
    if path is None:
        return what, why or type(error).__name__
    if "[...]" not in path and not in_key:
        return what + path, why
    try:
        raw = msgspec.json.decode(text)
    except Exception:  # it is no JSON of any type: a number may be out of range
        return what, why
    try:
        path, key = _exact(path, in_key, raw, lambda: _raises(error, raw, decode))
    except (LookupError, TypeError):  # a name with a dot or a bracket in it makes the way ambiguous
        key = None
    return what + path, why if key is None else f"its key {quoted(key)}: {why}"


def bare(error: Exception, what: str) -> str:
    """Returns where reading stumbled and why, without what was read: neither the keys on the way nor a value."""
    why, path, in_key = _split(str(error))
    found = f"{what}{path or ''}: {'its key: ' if in_key else ''}{why}"
    # What a class of the program's own raises as it is made may quote anything.
    return found if error.__cause__ is None and is_bare(found.removeprefix(what)) else f"{what}: it is not of its type"


def is_bare(found: str) -> bool:
    """Says whether a way and a reason name nothing but what a type is made of."""
    return _BARE.fullmatch(found) is not None


def _split(message: str) -> tuple[str, str | None, bool]:
    """Returns why, where, and whether it is a key that is wrong there; None as the place where msgspec names none."""
    # The last one: before it stands what was read, which may look like a place itself.
    why, _, place = message.rpartition(_AT)
    path = place.removeprefix(_IN_KEY)
    if not (path.startswith("$") and path.endswith("`")):
        return message.replace("`", ""), None, False
    return why.replace("`", ""), path[1:-1], path != place


def _raises(error: Exception, raw: Any, decode: Decode) -> bool:
    try:
        decode(msgspec.json.encode(raw))
    except Exception as other:  # whatever it is, what matters is whether it is the same
        return str(other) == str(error)
    return False


def _exact(path: str, in_key: bool, raw: Any, fails: Callable[[], bool]) -> tuple[str, str | None]:
    """Returns the path with a key for each `[...]`, and the key of the dict there that is itself wrong."""
    way, part = "", raw
    for step in _STEP.findall(path):
        name: Any = _failing_key(part, fails) if step == "[...]" else _name(step)
        way += f"[{quoted(name)}]" if step == "[...]" else step
        part = part[name]
    return way, _failing_key(part, fails) if in_key else None


def _name(step: str) -> str | int:
    return step[1:] if step.startswith(".") else int(step[1:-1])


def _failing_key(items: dict[str, Any], fails: Callable[[], bool]) -> str:
    """Returns the key at which reading fails, and leaves `items` with that key alone."""
    left = list(items.items())
    while len(left) > 1:
        half = len(left) // 2
        items.clear()
        items.update(left[:half])
        left = left[:half] if fails() else left[half:]
    items.clear()
    items.update(left)
    return left[0][0]
