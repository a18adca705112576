"""Runs whose end the database refuses to write, as a text that its encoding has no signs for: nobody else waits for it.

Each run is then settled alone. What is refused even so has its text written in ASCII, and its numbers left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from django.db import transaction

from ..databases import database
from ..databases.rows import Fence
from ..databases.troubles import is_refusal
from ..models import Job
from ..values.text import LONGEST_ERROR, first_line
from . import flaws
from .aftermath import Ending
from .settling import Finished, Settling, settle

REFUSED = "its end was refused"
LONGEST_TRACEBACK = 40_000


def settle_all(alias: str, finished: Sequence[Finished]) -> Settling:
    """Settles runs together, in one transaction; each alone where the database refuses that."""
    if not finished:  # as in most rounds, which a transaction more would hold up
        return Settling({}, ())
    try:
        with _transaction(alias):
            return settle(alias, finished)
    except Exception as error:
        if not is_refusal(error):
            raise
        return settle_each(alias, finished)


def settle_each(alias: str, finished: Sequence[Finished]) -> Settling:
    """Settles each run alone, as far as the database takes what it ended in."""
    outcomes: dict[Fence, str] = {}
    left: list[Finished] = []
    for one in finished:
        some = _settle_somehow(alias, one)
        outcomes |= some.outcomes
        left += some.left
    return Settling(outcomes, left)


def settle_alone(alias: str, finished: Finished) -> str | None:
    """Settles one run inside its handler's own transaction; its outcome, or None if the job is no longer its own."""
    # Another transaction's open change of the row is waited for: skipped, it would cost the handler all it did.
    list(Job.objects.using(alias).select_for_update().filter(pk=finished.held.id).values("pk"))
    # Of a run that went well there is nothing to refuse, and a savepoint would be two trips more.
    settles = settle if finished.ending.error is None else settle_each
    return settles(alias, [finished]).outcomes.get(finished.held.fence)


def _settle_somehow(alias: str, one: Finished) -> Settling:
    ways: list[Callable[[str, Finished, str], Finished]] = [_as_it_is, _in_ascii, _as_failed]
    why = ""
    for way in ways:
        try:
            with _transaction(alias):
                return settle(alias, [way(alias, one, why)])
        except Exception as error:
            if not is_refusal(error):
                raise
            why = flaws.tell(f"{one.held.queue} pk={one.held.id}", f"{REFUSED}: {first_line(str(error))}", error)
    return Settling({}, ())


def _as_it_is(alias: str, one: Finished, why: str) -> Finished:
    return one


def _in_ascii(alias: str, one: Finished, why: str) -> Finished:
    ending = one.ending
    error, trace = _ascii(ending.error, LONGEST_ERROR), _ascii(ending.traceback, LONGEST_TRACEBACK)
    return one._replace(ending=replace(ending, error=error, traceback=trace))


def _as_failed(alias: str, one: Finished, why: str) -> Finished:
    """A failed run, with nothing of what it ended in."""
    now = database(alias).now()
    held = one.held._replace(attempt=1, at=now, started_at=now)
    return one._replace(held=held, ending=Ending("failed", _ascii(why, LONGEST_ERROR)), seen=None)


def _ascii(text: str | None, longest: int) -> str | None:
    if text is None:
        return None
    escaped = text.encode("ascii", "backslashreplace").decode("ascii")
    return escaped if len(escaped) <= longest else f"{escaped[: longest - 3]}..."


def _transaction(alias: str) -> AbstractContextManager[Any]:
    """A savepoint where a transaction is open, which a refusal would break."""
    store = database(alias)
    return transaction.atomic(using=alias) if store.in_transaction() else store.own_transaction()
