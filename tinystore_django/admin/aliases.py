"""Which database an operator looks at: the one where jobs go, or another that declared queues live on."""

from __future__ import annotations

from django.db import connections, router
from django.http import HttpRequest
from django.utils.http import urlencode

from ..databases import VENDORS
from ..models import Job
from ..registry import declared

PARAMETER = "database"


def known_aliases() -> list[str]:
    """The alias that the project's routers name for writing jobs, then those of stores with another, by name."""
    first = router.db_for_write(Job)
    others = {one.alias for one in declared()} - {first}
    return [first, *sorted(alias for alias in others if alias in connections and connections[alias].vendor in VENDORS)]


def chosen_alias(request: HttpRequest) -> str:
    """The alias that a page is about: `?database=`, else the first of those known. Where it names another one, `unread`
    says so, and nothing is shown."""
    known = known_aliases()
    asked = request.GET.get(PARAMETER, "")
    return asked if asked in known else known[0]


def carried(request: HttpRequest) -> dict[str, str]:
    """What the links of a page carry on, so that they lead to rows of the same database."""
    alias = chosen_alias(request)
    return {} if alias == known_aliases()[0] else {PARAMETER: alias}


def with_query(url: str, parameters: dict[str, str]) -> str:
    """A URL without a query of its own, with one."""
    return f"{url}?{urlencode(parameters)}" if parameters else url
