"""A row that says what no job's can, changed by hand or by a bug: told apart here, and told in the log once.

It is its own trouble and nobody else's. A claim ends its run at once as failed, with the reason; what reads many rows
leaves it out, or shows it as far as it can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..databases.marking import MOST_ATTEMPTS
from ..databases.rows import Held
from ..log import logger
from ..models import Job
from ..timing.clock import EARLIEST, LATEST
from ..values import error_text, first_line, plain

R = TypeVar("R")
T = TypeVar("T")

DAMAGED = "its row is damaged"
MOST_TOLD = 10_000  # of which it is remembered that they were told

_told: set[tuple[str, str]] = set()


def flaw(held: Held) -> str | None:
    """Why a claimed job cannot be run, in words; None where it can."""
    if not 0 < held.attempt < MOST_ATTEMPTS:
        return f"{DAMAGED}: attempt {held.attempt}"
    if type(held.at) is not int or not EARLIEST <= held.at <= LATEST:  # SQLite keeps any text there
        return f"{DAMAGED}: due {first_line(str(held.at))}"
    return None


def flaw_of(row: Job) -> str | None:
    """Why a row is none of a job in any state; None where it is one."""
    return None if row.state in Job.State.values else f"{DAMAGED}: state {row.state}"


def each(rows: Iterable[R], read: Callable[[R], T], name: Callable[[R], object]) -> list[tuple[R, T]]:
    """What each row reads as, with the row; those that do not read are told, and left out."""
    return [(row, made) for row in rows if (made := attempt(read, row, name(row))) is not None]


def attempt(read: Callable[[R], T], row: R, name: object) -> T | None:
    """What a row reads as; None, which is told, where that raises whatever it may."""
    try:
        return read(row)
    except Exception as error:  # one row's trouble must not be everybody's
        tell(name, of_error(error), error)
        return None


def of_error(error: Exception) -> str:
    """What is wrong with a row that something raised at."""
    return f"{DAMAGED}: {first_line(error_text(error))}"


def tell(name: object, why: str, error: BaseException | None = None) -> str:
    """Says once in this process's log what is wrong with a row; gives it back."""
    about = (str(name), why)
    if about not in _told:
        if len(_told) >= MOST_TOLD:
            _told.clear()
        _told.add(about)
        logger.warning("%s: %s", plain(about[0]), why, exc_info=error)
    return why


def named(row: Any) -> str:
    """What a job's row is called in the log."""
    return f"{row.queue} pk={row.pk}"
