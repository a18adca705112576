"""Every exception a caller may catch."""

from __future__ import annotations

import reprlib
from typing import Any

_LONGEST_QUOTE = 120
_LONGEST_PART = 80
_LONGEST_TEXT = 300


class TinystoreError(Exception):
    """What every error of this app is, so that one `except` catches them all.

    `without_values` is its text without what it quotes of a job's value or a step's answer; None where it quotes none.
    """

    def __init__(self, *args: object, without_values: str | None = None) -> None:
        super().__init__(*args)
        self.without_values = without_values


class InvalidError(TinystoreError, ValueError):
    """Raised when an argument cannot be what it is given as; nothing was written.

    Its text quotes what was given and says what to write instead.
    """


class LimitError(TinystoreError):
    """Raised when something valid is too much, as a value over 1 MiB or a job beyond `max_waiting`."""


class ConflictError(TinystoreError):
    """Raised when a row is not this call's to write.

    In a handler: its job is no longer its own, as its lease was lost or the job was cancelled. By add, add_many, set
    and a schedule's opening: the database does not keep the row, as with a trigger or row level security.
    """


class CorruptError(TinystoreError):
    """Raised when a kept row no longer reads: a value not of its queue's type, a repeat that is none."""


class RunStopped(TinystoreError):
    """Raised in a sync handler by its next step or set_progress, once its run is to stop.

    A run is to stop when its job was cancelled, or when it passed its timeout.
    An async handler gets CancelledError instead.
    """


class _Quotes(reprlib.Repr):
    """Reprs of the first items of what is long, and of both ends of a long text."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = _LONGEST_PART

    def repr_instance(self, x: Any, level: int) -> str:
        """Returns the repr of what is no text, number or container; its class where that raises."""
        try:
            text = repr(x)
        except Exception:
            return f"<{type(x).__name__}>"
        half = _LONGEST_PART // 2
        return text if len(text) <= _LONGEST_PART else f"{text[:half]}...{text[-half:]}"


_quotes = _Quotes()


def quoted(given: object) -> str:
    """Returns what was given as an error's text shows it: its repr, cut where it would bury the message."""
    try:
        text = repr(given) if type(given) is str and len(given) <= _LONGEST_PART else _quotes.repr(given)
    except Exception:  # what is wrong with the argument is the error to tell of
        text = f"<{type(given).__name__}>"
    return brief(text, _LONGEST_QUOTE)


def brief(text: str, most: int = _LONGEST_TEXT) -> str:
    """Returns a text that others wrote, cut as an error's text shows it."""
    return text if len(text) <= most else f"{text[:most]}…"
