"""Which transaction a call is in, and whether that is the one its caller meant."""

from __future__ import annotations

import warnings
from typing import Any

from django.db import connections, transaction

from .callsite import caller
from .errors import InvalidError, quoted
from .registry import Declaration


def check_open(within: object, declaration: Declaration) -> None:
    """Checks that `in_` names the queue's database, and that an atomic block is open on it.

    Raises:
        InvalidError: it does not, or none is.
    """
    alias = declaration.alias
    given = _alias_of(within, alias)
    asked = f"in_ of {declaration.kind} {declaration.name!r}, which is in database {alias!r}"
    if given != alias:
        raise InvalidError(
            f"{asked}: the transaction given is of {quoted(given)}; only one of {alias!r} can hold its jobs"
        )
    if not connections[alias].in_atomic_block:
        others = f", only on {', '.join(map(repr, _open_elsewhere(alias)))}" if _open_elsewhere(alias) else ""
        raise InvalidError(
            f"{asked}: no atomic block is open on {alias!r}{others}; write `with transaction.atomic(using={alias!r}):`"
        )


def warn_of_another(alias: str, declaration: Declaration) -> None:
    """Warns, once a call site, of a job that would not commit with the rows of the only atomic block open."""
    if connections[alias].in_atomic_block or not (others := _open_elsewhere(alias)):
        return
    site = caller()
    if site not in declaration.warned:
        declaration.warned.add(site)
        warnings.warn_explicit(
            f"{declaration.kind} {declaration.name!r} is in database {alias!r}, and the open atomic block is on "
            f"{', '.join(map(repr, others))}: the job does not commit with its rows",
            RuntimeWarning,
            *site,
        )


def _alias_of(within: Any, own: str) -> str:
    if within is transaction:
        return own
    given = within if isinstance(within, str) else getattr(within, "alias", None)
    if not isinstance(given, str) or given not in connections:
        raise InvalidError(f"in_({quoted(within)}): give django.db.transaction, an alias of DATABASES or a connection")
    return given


def _open_elsewhere(alias: str) -> list[str]:
    return [one.alias for one in connections.all(initialized_only=True) if one.in_atomic_block and one.alias != alias]
