"""How a value stands in an error's text: short, and never failing itself."""

from __future__ import annotations

import reprlib

_reprs = reprlib.Repr()
_reprs.maxstring = _reprs.maxother = _reprs.maxlong = 80


def quote(value: object) -> str:
    """Returns a repr of at most a line; one that raises, or has no end, is told by its class."""
    return _reprs.repr(value)
