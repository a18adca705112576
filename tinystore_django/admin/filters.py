"""What the list of jobs can be narrowed to."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..lifecycle.locking import NOT_STARTED
from ..models import Job
from ..registry import declared

# `now` is what the admin's rows are annotated with.
STATES = {
    "scheduled": Q(state__in=NOT_STARTED, at__gt=F("now")),
    "waiting": Q(state__in=NOT_STARTED, at__lte=F("now")),
    "running": Q(state=Job.State.RUNNING),
    "failed": Q(state=Job.State.FAILED),
    "done": Q(state=Job.State.DONE),
}


class StateFilter(admin.SimpleListFilter):
    """A job's state, by the clock."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        shown = [_("scheduled"), _("waiting"), _("running"), _("failed"), _("done")]
        return list(zip(STATES, shown, strict=True))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        state = STATES.get(self.value() or "")
        return queryset if state is None else queryset.filter(state)


class QueueFilter(admin.SimpleListFilter):
    """The queues that this process declares, without a look at the table, and the one that was asked for."""

    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        names = {one.name for one in declared()} | set(request.GET.getlist("queue"))
        return [(name, name) for name in sorted(names)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        name = self.value()
        return queryset.filter(queue=name) if name else queryset


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
