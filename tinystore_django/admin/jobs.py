"""Jobs in the admin: to be found, read and operated, and never edited."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import connections, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ..databases import database
from ..lifecycle.locking import State
from ..lifecycle.reading import due_at, state_of
from ..models import Job
from ..timing import clock
from . import detail, gone, redaction, showing, unread
from .aliases import chosen_alias
from .filters import DatabaseFilter, GroupFilter, QueueFilter, StateFilter, beginning_with
from .looking_back import GoneAdmin
from .operating import OperatingAdmin
from .paging import JobList
from .verbs import VERBS


@admin.register(Job)
class JobAdmin(GoneAdmin, OperatingAdmin):
    """The jobs of the database that the project's routers name for writing them, or of another one with queues."""

    list_display = ("queue", "named", "state_now", "due_at", "attempt", "grouped", "short_error", "progress_bar")
    list_display_links = ("queue", "named")
    list_filter = (StateFilter, QueueFilter, GroupFilter, DatabaseFilter)
    list_per_page = 50
    search_fields = ("key",)
    search_help_text = gettext_lazy("the beginning of an id")
    sortable_by = ()
    # Nothing here may count a table of millions.
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """The rows, each with the time it was read at. Those past their keep are left out by the filters and by
        `get_object`: said here, it would keep the list from reading indexes alone."""
        alias = chosen_alias(request)
        rows = super().get_queryset(request).using(alias).annotate(now=database(alias).now_expression())
        return rows.none() if unread.database(request) else rows

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Job | None:
        """A job that is there, or that runs though it was cancelled."""
        job: Any = super().get_object(request, object_id, from_field)
        past = job is not None and job.kept_until is not None and clock.from_datetime(job.kept_until) <= job.now
        return None if past else job

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobList]:
        return JobList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        return (beginning_with(queryset, search_term) if search_term else queryset), False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.operate_view)
        own = path("<path:object_id>/operate/", view, name="tinystore_django_job_operate")
        return [_unwrapped(one) for one in (own, *super().get_urls())]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """Nobody edits a row: saved as it was read, it would undo what a worker wrote meanwhile."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """Who may do something to jobs sees them, too."""
        return super().has_view_permission(request, obj) or any(verb.allowed(request) for verb in VERBS.values())

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A job's page: all that is known of it, and a button for each thing that can be done to it now."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        job = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        if job is None:
            return self.without_job(request, unquote(object_id))
        page = self._page(request, job)
        context = {**self.admin_site.each_context(request), **page, **(extra_context or {})}
        request.current_app = self.admin_site.name
        response = TemplateResponse(request, "admin/tinystore_django/job/detail.html", context)
        gone.remember(request, response, job, page["facts"])
        return response

    def _page(self, request: HttpRequest, job: Any) -> dict[str, Any]:
        state = "gone" if job.cancelled else state_of(job, job.now)
        return {
            "title": _("Job"),
            "subtitle": showing.title(job),
            **self.kept(request),
            "job": job,
            "facts": detail.facts(job),
            "steps": detail.steps(job),
            "verbs": [verb for verb in VERBS.values() if state in verb.states and verb.allowed(request)],
            "at_job": True,
        }

    @admin.display(description=gettext_lazy("id"))
    def named(self, job: Job) -> str:
        return showing.name(job.key, showing.MOST) if job.key else showing.key(job.pk)

    @admin.display(description=gettext_lazy("state"))
    def state_now(self, job: Job) -> str:
        return detail.state_name(job)

    @admin.display(description=gettext_lazy("due"))
    def due_at(self, job: Any) -> str:
        return showing.cell(_("due"), showing.due(due_at(job), clock.to_datetime(job.now)))

    @admin.display(description=gettext_lazy("group"))
    def grouped(self, job: Job) -> str:
        return showing.cell(_("group"), showing.name(job.group, showing.MOST))

    @admin.display(description=gettext_lazy("error"))
    def short_error(self, job: Job) -> str:
        return showing.cell(_("error"), showing.line(redaction.error(job.error)))

    @admin.display(description=gettext_lazy("progress"))
    def progress_bar(self, job: Job) -> str:
        running = job.state == State.RUNNING and job.queue
        shown = redaction.progress(job.queue, job.progress) if running and job.queue else showing.NOTHING
        return showing.cell(_("progress"), shown)


def _unwrapped(pattern: URLPattern) -> URLPattern:
    """A view that ATOMIC_REQUESTS leaves alone: an action on a million jobs commits them in batches, and a page that
    only reads takes no write lock on SQLite."""
    for alias in connections:
        pattern.callback = transaction.non_atomic_requests(using=alias)(pattern.callback)
    return pattern
