"""What the list of jobs can be narrowed to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..databases.names import queues
from ..lifecycle.figures import alive
from ..lifecycle.locking import NOT_STARTED
from ..lifecycle.pausing import paused
from ..models import Job
from ..registry import declared
from ..values import is_text
from .aliases import PARAMETER, chosen_alias, known_aliases
from .unread import quoted

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


MOST_LINKS = 100
TYPED = "admin/tinystore_django/typed_filter.html"


class ClosedFilter(admin.SimpleListFilter):
    """A filter that shows nothing of what it cannot read: shown without it, the list would be wider than was asked."""

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        # All that the address gives it: Django keeps the last.
        self.given: list[str] = list(params.get(self.parameter_name, ()))
        super().__init__(request, params, model, model_admin)
        self.unread = [self.says(one) for one in dict.fromkeys(self.given) if not self.reads(one)]

    def reads(self, value: str) -> bool:
        """Whether a value is one that it knows."""
        raise NotImplementedError

    def says(self, value: str) -> str:
        """That there is no such value, in a sentence."""
        raise NotImplementedError

    def narrowed(self, queryset: QuerySet[Job], value: str) -> QuerySet[Job]:
        """The jobs that a value leaves."""
        raise NotImplementedError

    def has_output(self) -> bool:
        """Django asks a filter without output for nothing."""
        return bool(self.unread) or super().has_output()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if self.unread:
            return queryset.none()
        value = self.value()
        return queryset if value is None else self.narrowed(queryset, value)


class StateFilter(ClosedFilter):
    """A job's state, by the clock."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(STATE_NAMES.items())

    def reads(self, value: str) -> bool:
        return value in STATES

    def says(self, value: str) -> str:
        return gettext("There is no state “%(name)s”.") % {"name": quoted(value)}

    def narrowed(self, queryset: QuerySet[Job], value: str) -> QuerySet[Job]:
        return queryset.filter(STATES[value])


_with_jobs: WeakKeyDictionary[HttpRequest, list[str]] = WeakKeyDictionary()


class QueueFilter(ClosedFilter):
    """The queues that this process declares, and those that have jobs: links, or a name to type where they are many."""

    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        self.alias = chosen_alias(request)
        # Django makes its filters anew for an action.
        if request not in _with_jobs:
            _with_jobs[request] = queues(self.alias)
        names = {one.name for one in declared() if one.alias == self.alias}.union(_with_jobs[request])
        if len(names) > MOST_LINKS:
            self.template = TYPED
        return [(name, name) for name in sorted(names)]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        if self.template != TYPED:
            yield from super().choices(changelist)
            return
        options = format_html_join("", '<option value="{}">', self.lookup_choices)
        names = format_html('<datalist id="tinystore-queue-names">{}</datalist>', options)
        yield {**_typed(self, changelist), "names": names}

    def reads(self, value: str) -> bool:
        """The page of queues has those that are paused or that a worker runs, too, and leads here."""
        return (value, value) in self.lookup_choices or value in paused(self.alias) or value in alive(self.alias)

    def says(self, value: str) -> str:
        return gettext("There is no queue “%(name)s”.") % {"name": quoted(value)}

    def narrowed(self, queryset: QuerySet[Job], value: str) -> QuerySet[Job]:
        return queryset.filter(queue=value)


class GroupFilter(ClosedFilter):
    """A group, typed: there may be a million of them."""

    title = _("group")
    parameter_name = "group"
    template = TYPED

    def has_output(self) -> bool:
        return True

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return []

    def reads(self, value: str) -> bool:
        """No text is no group: what its form sends once it was emptied."""
        return not value or is_text(value)

    def says(self, value: str) -> str:
        return gettext("There is no group “%(name)s”.") % {"name": quoted(value)}

    def narrowed(self, queryset: QuerySet[Job], value: str) -> QuerySet[Job]:
        return queryset.filter(group=value) if value else queryset

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        yield _typed(self, changelist)


def _typed(chosen: admin.SimpleListFilter, changelist: ChangeList) -> dict[str, Any]:
    """The one form that the template makes: its text, and what else the list is narrowed to."""
    name = chosen.parameter_name
    others = {other: values for other, values in changelist.filter_params.items() if other != name}
    kept = [(other, value) for other, values in others.items() for value in values]
    return {"value": chosen.value() or "", "kept": kept, "clear": changelist.get_query_string(remove=[str(name)])}


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
    end = past(prefix)
    found = queryset.filter(key__gte=prefix)
    return found if end is None else found.filter(key__lt=end)


def past(prefix: str) -> str | None:
    """The first text after all that begin with the prefix; None where there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    after = ord(stem[-1]) + 1
    # Surrogates are no characters: past U+D7FF comes U+E000.
    return stem[:-1] + chr(0xE000 if after == 0xD800 else after)
