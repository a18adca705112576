"""What a run may set for itself, and no other run finds: language, time zone, URLconf, context variables."""

from __future__ import annotations

from contextlib import suppress
from contextvars import Context

from django.core.cache import caches


def beginning() -> Context:
    """The context of this thread that each of its runs gets a copy of. Empty it must be: a decimal context, say, would
    be one object in all copies. But Django keeps its caches in it, and with them their connections."""
    context = Context()
    context.run(_make_caches)
    return context


def _make_caches() -> None:
    for alias in caches:
        with suppress(Exception):  # whoever uses it hears so from Django
            caches[alias]
