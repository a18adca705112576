"""What an error says where the project hides values from its operators, by its REDACT."""

from __future__ import annotations

from collections.abc import Iterator

from . import conf, values
from .errors import TinystoreError

UNREAD = "its value no longer reads"


def hides() -> bool:
    """Whether the project has something to hide, so that no value may be shown around its function."""
    return conf.given("REDACT") is not None


def error_text(error: object) -> str:
    """Returns what a row keeps of an error: one of ours without what it quotes of a value, where values are hidden."""
    bare = error.without_values if isinstance(error, TinystoreError) and hides() else None
    return values.error_text(error if bare is None else bare)


def kept_error(text: str | None) -> str | None:
    """Returns an error as a row keeps it, which may be from before values were hidden, as it may be shown."""
    why = (text or "").removeprefix(f"{UNREAD}: value")
    return UNREAD if text and why != text and hides() and not values.is_bare(why) else text


def traceback_text(error: BaseException) -> str:
    """Returns what a row keeps of its traceback, which ends with each error's text: by the same rule."""
    return values.traceback_text(error, error_text(error) if quotes_values(error) else None)


def quotes_values(error: BaseException) -> bool:
    """Whether the error, or one that it came from, quotes a value that is to be hidden."""
    return hides() and any(isinstance(one, TinystoreError) and one.without_values for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += filter(None, (one.__cause__, one.__context__, *getattr(one, "exceptions", ())))
