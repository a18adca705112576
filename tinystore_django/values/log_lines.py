"""What goes into this package's log: text of rows can begin no line of its own there, and moves no terminal."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from .text import plain


class Lines(str):
    """A text of several lines that is to stand as such in the log."""

    __slots__ = ()


def escape(record: logging.LogRecord) -> bool:
    """Escape what a record says, as a filter of the logger: so it holds for every handler of the project's."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_escaped, record.args))
    if record.exc_info and not record.exc_text:
        # A traceback that cannot be formatted is the handlers' to deal with.
        with suppress(Exception):
            record.exc_text = plain(logging.Formatter().formatException(record.exc_info), kept="\n\t")
    return True


def _escaped(argument: Any) -> Any:
    if isinstance(argument, int | float):
        return argument
    with suppress(Exception):  # one that has no text is the handlers' to deal with
        return plain(str(argument), kept="\n\t" if isinstance(argument, Lines) else "")
    return argument
