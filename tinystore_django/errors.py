"""Every exception a caller may catch."""

from __future__ import annotations

_LONGEST_QUOTE = 120


class TinystoreError(Exception):
    """What every error of this app is, so that one `except` catches them all."""


class InvalidError(TinystoreError, ValueError):
    """Raised when an argument cannot be what it is given as; nothing was written.

    Its text quotes what was given and says what to write instead.
    """


class LimitError(TinystoreError):
    """Raised when something valid is too much, as a value over 1 MiB or a job beyond `max_waiting`."""


class ConflictError(TinystoreError):
    """Raised in a handler whose job is no longer its own: its lease was lost, or the job was cancelled."""


class CorruptError(TinystoreError):
    """Raised when a kept row no longer reads: a value not of its queue's type, a repeat that is none."""


class RunStopped(TinystoreError):
    """Raised in a sync handler by its next step or set_progress, once its run is to stop.

    A run is to stop when its job was cancelled, or when it passed its timeout.
    An async handler gets CancelledError instead.
    """


def quoted(given: object) -> str:
    """Returns what was given as an error's text shows it: its repr, cut where it would bury the message."""
    try:
        text = repr(given)
    except Exception:  # what is wrong with the argument is the error to tell of
        text = f"<{type(given).__name__}>"
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
