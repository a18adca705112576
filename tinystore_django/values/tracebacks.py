"""A traceback as a row keeps it."""

from __future__ import annotations

import traceback

from .text import class_name, clean, error_text

# A kept traceback's longest, in characters: its two ends say most.
LONGEST_TRACEBACK = 40_000


def traceback_text(error: BaseException, said: str | None = None) -> str:
    """Return the traceback as Python prints it, cleaned, and cut in its middle; with `said` this error's lines alone,
    and that for its text. It raises nothing."""
    try:
        text = "".join(traceback.format_exception(error) if said is None else _without_text(error, said))
    except BaseException:  # a SyntaxError whose parts are of other types, a `__dir__` that raises, and the like
        text = _plainly(error, error_text(error) if said is None else said)
    text = clean(text)
    if len(text) <= LONGEST_TRACEBACK:
        return text
    half = LONGEST_TRACEBACK // 2
    return f"{text[:half]}\n…\n{text[-half:]}"


def _without_text(error: BaseException, said: str) -> list[str]:
    return [*traceback.format_tb(error.__traceback__), f"{class_name(error)}: {said}\n"]


def _plainly(error: BaseException, said: str) -> str:
    """The places alone, of this error alone: no code of the error's, and none of the modules' loaders, is called."""
    places = [
        f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    head = "Traceback (most recent call last; Python cannot format more of it):"
    return "\n".join([head, *places, f"{class_name(error)}: {said}", ""])
