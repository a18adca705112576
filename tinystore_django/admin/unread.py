"""What an address asks for that means nothing: it is said, and nothing is shown, since to leave it out would show, and
let be cancelled, what nobody asked for."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..values import first_line
from .aliases import PARAMETER, known_aliases
from .showing import MOST


def database(request: HttpRequest) -> list[str]:
    """A sentence for each database that the address names and that there is not."""
    asked = _without(request.GET.getlist(PARAMETER), known_aliases())
    return [_("There is no database “%(name)s”.") % {"name": quoted(name)} for name in asked]


def parameters(request: HttpRequest, known: Iterable[str]) -> list[str]:
    """A sentence for each parameter of the address that there is not: a filter's name may be misspelt, too."""
    return [_("There is no filter “%(name)s”.") % {"name": quoted(name)} for name in _without(request.GET, known)]


def quoted(text: str) -> str:
    """What was asked for, in one line and cut."""
    return first_line(text, MOST)


def _without(asked: Iterable[str], known: Iterable[str]) -> list[str]:
    some = frozenset(known)
    return [one for one in dict.fromkeys(asked) if one not in some]
