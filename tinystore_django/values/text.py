"""Text that every database can keep: not every str is one."""

from __future__ import annotations

import re
from typing import TypeGuard

from ..errors import InvalidError, quoted

LONGEST_TEXT = 1024
LONGEST_ERROR = 4096

# PostgreSQL keeps no U+0000, and UTF-8 has no bytes for half of a surrogate pair.
UNKEPT = re.compile("[\x00\ud800-\udfff]")


def check_text(text: object, what: str, limit: int = LONGEST_TEXT) -> str:
    """Returns an id or a group as plain text, once it is sure that every database can keep it.

    `limit` counts UTF-8 bytes. Raises InvalidError, whose text begins with `what`.
    """
    if not isinstance(text, str):
        raise InvalidError(f"{what} {quoted(text)}: write it as text, 1 to {limit:,} bytes of UTF-8")
    if found := UNKEPT.search(text):
        raise InvalidError(f"{what} {quoted(text)}: take out {name_of(found[0])}, which PostgreSQL cannot keep")
    if not _fits(text, limit):
        raise InvalidError(f"{what} {quoted(text)}: write 1 to {limit:,} bytes of UTF-8")
    return str.__str__(text)


def may_name(id: object) -> bool:
    """Says whether a job may have this id. Raises InvalidError for what is no text."""
    if not isinstance(id, str):
        raise InvalidError(f"id {quoted(id)}: give a text, such as str(order.pk)")
    return is_text(id)


def is_text(text: object, limit: int = LONGEST_TEXT) -> TypeGuard[str]:
    """Says whether `check_text` would take it."""
    return isinstance(text, str) and not UNKEPT.search(text) and _fits(text, limit)


def _fits(text: str, limit: int) -> bool:
    # A character has at least one byte, so a text of megabytes is refused without encoding it.
    return 1 <= len(text) <= limit and len(text.encode()) <= limit


def name_of(character: str) -> str:
    """Returns how an error names a character that cannot be kept."""
    return "U+0000" if character == "\0" else f"the lone surrogate U+{ord(character):04X}"


def clean(text: str) -> str:
    """Returns the text with each U+0000 and each lone surrogate replaced by U+FFFD."""
    return UNKEPT.sub("\ufffd", text)


def cut(text: str, limit: int = LONGEST_ERROR) -> str:
    """Returns the text, or where it has more than `limit` bytes of UTF-8, what fits of it and then "…"."""
    # A character has at least one byte: where there is more of the text, this alone is too much.
    start = text[: limit + 1].encode(errors="replace")
    if len(start) <= limit:
        return text
    return start[:limit].decode(errors="ignore") + "…"


def error_text(error: object) -> str:
    """Returns what a row keeps of an error: its text, else the name of its class, cleaned and cut.

    What is no exception, as a reason may be, is its `str`, empty or not.
    """
    return cut(clean(_text_of(error)[: LONGEST_ERROR + 1]))


def plain(text: str, kept: str = "") -> str:
    """Returns the text with what a terminal would obey written as escapes, line ends too; not those in `kept`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in kept else ascii(one)[1:-1] for one in text)


def first_line(text: str, limit: int = 200) -> str:
    """Returns the first line of a text, at most `limit` characters of it, for a log or a terminal."""
    line = text.strip().partition("\n")[0]
    return plain(f"{line[:limit]}…" if len(line) > limit else line)


def class_name(value: object) -> str:
    """Returns the name of its class, whatever its metaclass says of it."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def _text_of(error: object) -> str:
    try:
        text = str.__str__(str(error))  # of a subclass of str, which may raise at anything, the plain text
    except BaseException:  # the error to tell of is the one given, not what its broken __str__ raises
        return class_name(error)
    return text or (class_name(error) if isinstance(error, BaseException) else text)
