"""What the demo shows: each fact is a line with the time it took, or the demo's end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Generous: a loaded machine is slow, and not wrong.
PATIENCE = 60.0
PAUSE = 0.01


class NotSo(Exception):
    """A fact does not hold; the text says which, and what was there instead."""


class Facts:
    """Prints one line a fact."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def say(self, text: str, began: float) -> None:
        """Prints a fact and the milliseconds since `began`, a time.monotonic()."""
        self._write(f"{(time.monotonic() - began) * 1000:7.0f} ms  {text}")


def expect(holds: object, text: str) -> None:
    """Raises NotSo with the text unless it holds."""
    if not holds:
        raise NotSo(text)


def wait_for(what: str, look: Callable[[], T | None]) -> T:
    """Looks until there is something to see, and gives it. Raises NotSo after a minute."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if seen := look():
            return seen
        time.sleep(PAUSE)
    raise NotSo(f"{what}: not within {PATIENCE:.0f} s")
