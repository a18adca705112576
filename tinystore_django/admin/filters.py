"""What the list of jobs can be narrowed to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..lifecycle.locking import NOT_STARTED
from ..models import Job
from ..registry import declared
from ..values import is_text
from .aliases import PARAMETER, chosen_alias, known_aliases

# `now` is what the admin's rows are annotated with. Rows past their keep are nobody's any more.
KEPT = Q(kept_until__gt=F("now"))
STATES = {
    "scheduled": Q(state__in=NOT_STARTED, at__gt=F("now")),
    "waiting": Q(state__in=NOT_STARTED, at__lte=F("now")),
    "running": Q(state=Job.State.RUNNING),
    "failed": Q(state=Job.State.FAILED) & KEPT,
    "done": Q(state=Job.State.DONE) & KEPT,
}
STATE_NAMES = {
    "scheduled": _("scheduled"),
    "waiting": _("waiting"),
    "running": _("running"),
    "failed": _("failed"),
    "done": _("done"),
}


class StateFilter(admin.SimpleListFilter):
    """A job's state, by the clock."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(STATE_NAMES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        state = STATES.get(self.value() or "")
        return queryset if state is None else queryset.filter(state)


class QueueFilter(admin.SimpleListFilter):
    """The queues that this process declares, without a look at the table, and the one that was asked for."""

    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        alias = chosen_alias(request)
        names = {one.name for one in declared() if one.alias == alias}
        names |= {name for name in request.GET.getlist("queue") if is_text(name)}
        return [(name, name) for name in sorted(names)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        name = self.value()
        return queryset.filter(queue=name) if is_text(name) else queryset


class GroupFilter(admin.SimpleListFilter):
    """A group, typed: there may be a million of them."""

    title = _("group")
    parameter_name = "group"
    template = "admin/tinystore_django/group_filter.html"

    def has_output(self) -> bool:
        return True

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        group = self.value()
        return queryset.filter(group=group) if is_text(group) else queryset

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """The one form that the template makes: its text, and what else the list is narrowed to."""
        others = {name: values for name, values in changelist.filter_params.items() if name != self.parameter_name}
        kept = [(name, value) for name, values in others.items() for value in values]
        yield {"value": self.value() or "", "kept": kept, "clear": changelist.get_query_string(remove=["group"])}


class DatabaseFilter(admin.SimpleListFilter):
    """The databases that queues live on; no filter where it is one. The rows themselves come from `get_queryset`."""

    title = _("database")
    parameter_name = PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        aliases = known_aliases()
        return [(alias, alias) for alias in aliases] if len(aliases) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """No "All": a page is about one database."""
        choices = list(super().choices(changelist))[1:]
        chosen = self.value() in dict(self.lookup_choices)
        for number, choice in enumerate(choices):
            yield {**choice, "selected": choice["selected"] or (number == 0 and not chosen)}


def beginning_with(queryset: QuerySet[Job], prefix: str) -> QuerySet[Job]:
    """The jobs whose id begins with a text, each character standing for itself."""
    # A range, not LIKE: SQLite's knows no upper case, and the key's order is that of its bytes anyway.
    end = _past(prefix)
    found = queryset.filter(key__gte=prefix)
    return found if end is None else found.filter(key__lt=end)


def _past(prefix: str) -> str | None:
    """The first text after all that begin with the prefix; None where there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    after = ord(stem[-1]) + 1
    # Surrogates are no characters: past U+D7FF comes U+E000.
    return stem[:-1] + chr(0xE000 if after == 0xD800 else after)
