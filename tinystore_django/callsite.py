"""Which line of the project called this package: what a warning is about, once a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

Site = tuple[str, int]  # a file and a line

HERE = f"{Path(__file__).parent}{os.sep}"
_awaits: ContextVar[Site | None] = ContextVar("tinystore_awaits", default=None)


def caller() -> Site:
    """The file and line that called this package."""
    return _awaits.get() or _outside()


@contextmanager
def awaited() -> Iterator[None]:
    """Has `caller` tell the line that awaits this, also in the thread in which the sync call then runs."""
    token = _awaits.set(_outside())
    try:
        yield
    finally:
        _awaits.reset(token)


def _outside() -> Site:
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_between(file: str) -> bool:
    return file.startswith(HERE) or file == contextmanager.__code__.co_filename
