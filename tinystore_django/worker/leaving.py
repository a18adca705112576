"""The last things that a worker's loop does, whatever brought it to its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import Error

from ..databases import database
from .hold import drop
from .patience import Patience
from .upkeep import FAREWELL


def leave(alias: str, patience: Patience, *last: Callable[[], object]) -> None:
    """Does each of these in turn, whatever the one before it raised; again and again for a while, where the database
    does not answer."""
    end = time.monotonic() + FAREWELL
    for thing in last:
        while time.monotonic() < end and not _done(alias, patience, thing):
            pass


def _done(alias: str, patience: Patience, thing: Callable[[], object]) -> bool:
    """Whether there is no more to do: it went well, or raised what it would raise again."""
    try:
        database(alias).hasten()
        thing()
    except Exception as error:
        drop(alias)
        pause = patience.lost(error)
        if isinstance(error, Error):
            time.sleep(min(pause, 0.5))
            return False
    return True
