"""Jobs in the admin: to be found, read, retried and cancelled, and never edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import router
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ..databases import database
from ..lifecycle import operating
from ..lifecycle.reading import state_of
from ..models import Job
from ..values import first_line
from . import showing
from .filters import QueueFilter, StateFilter, beginning_with
from .paging import MOST, CappedPaginator, JobList

if TYPE_CHECKING:
    JobModelAdmin = admin.ModelAdmin[Job]
else:
    JobModelAdmin = admin.ModelAdmin


@admin.register(Job)
class JobAdmin(JobModelAdmin):
    """The jobs of the database that the project's routers name for writing them."""

    list_display = ("queue", "named", "state_now", "due_at", "attempt", "group", "short_error")
    list_display_links = ("queue", "named")
    list_filter = (StateFilter, QueueFilter)
    list_per_page = 50
    search_fields = ("key",)
    search_help_text = gettext_lazy("the beginning of an id")
    sortable_by = ()
    ordering = ("-pk",)
    # Nothing here may count a table of millions.
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    actions = ("retry_now", "cancel")
    readonly_fields = fields = (
        "queue",
        "named",
        "state_now",
        "due_at",
        "attempt",
        "group",
        "repeat",
        "started",
        "last_run",
        "kept_to",
        "value_shown",
        "progress_shown",
        "error_shown",
        "traceback_shown",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """The rows within their keep, each with the time it was read at."""
        alias = router.db_for_write(Job)
        rows = super().get_queryset(request).using(alias).annotate(now=database(alias).now_expression())
        return rows.filter(Q(kept_until__isnull=True) | Q(kept_until__gt=F("now")))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobList]:
        return JobList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        return (beginning_with(queryset, search_term) if search_term else queryset), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """Nobody edits a row: saved as it was read, it would undo what a worker wrote meanwhile."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return super().has_view_permission(request, obj) or self.has_operate_permission(request)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether the actions are there."""
        return request.user.has_perm("tinystore_django.retry_job")

    @admin.action(description=gettext_lazy("Retry now"), permissions=["operate"])
    def retry_now(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Starts failed jobs again."""
        done, kept = _each(queryset, operating.retry)
        if done:
            text = ngettext("%d job starts again.", "%d jobs start again.", done) % done
            self.message_user(request, text, messages.SUCCESS)
        if kept:
            self._say_kept(request, kept, _("only failed jobs can be retried"))

    @admin.action(description=gettext_lazy("Cancel"), permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Takes jobs away; the handlers of running ones are told to stop."""
        done, kept = _each(queryset, operating.cancel)
        if done:
            text = ngettext("%d job was cancelled.", "%d jobs were cancelled.", done) % done
            self.message_user(request, text, messages.SUCCESS)
        if kept:
            self._say_kept(request, kept, _("what is done or gone cannot be cancelled"))

    def _say_kept(self, request: HttpRequest, kept: Counter[str], why: str) -> None:
        count = kept.total()
        states = ", ".join(f"{number} {_(state)}" for state, number in sorted(kept.items()))
        left = ngettext("%d job was left as it is", "%d jobs were left as they are", count) % count
        self.message_user(request, f"{left} ({states}): {why}.", messages.WARNING)

    @admin.display(description=gettext_lazy("id"))
    def named(self, job: Job) -> str:
        return job.key or showing.NOTHING

    @admin.display(description=gettext_lazy("state"))
    def state_now(self, job: Any) -> str:
        return _("cancelled") if job.cancelled else _(state_of(job, job.now))

    @admin.display(description=gettext_lazy("due"))
    def due_at(self, job: Job) -> str:
        return showing.moment(job.due if job.state == Job.State.RUNNING else job.at)

    @admin.display(description=gettext_lazy("error"))
    def short_error(self, job: Job) -> str:
        return first_line(job.error) if job.error else showing.NOTHING

    @admin.display(description=gettext_lazy("started"))
    def started(self, job: Job) -> str:
        return showing.moment(job.started_at)

    @admin.display(description=gettext_lazy("last run"))
    def last_run(self, job: Job) -> str:
        if job.last_ended_at is None:
            return showing.NOTHING
        return f"{showing.moment(job.last_started_at)} – {showing.moment(job.last_ended_at)}"

    @admin.display(description=gettext_lazy("kept until"))
    def kept_to(self, job: Job) -> str:
        return showing.moment(job.kept_until)

    @admin.display(description=gettext_lazy("value"))
    def value_shown(self, job: Job) -> str:
        return showing.json_block(job.value)

    @admin.display(description=gettext_lazy("progress"))
    def progress_shown(self, job: Job) -> str:
        return showing.json_block(job.progress)

    @admin.display(description=gettext_lazy("error"))
    def error_shown(self, job: Job) -> str:
        return showing.block(job.error)

    @admin.display(description=gettext_lazy("traceback"))
    def traceback_shown(self, job: Job) -> str:
        return showing.block(job.traceback)


def _each(jobs: QuerySet[Job], verb: Callable[[str, int], str | None]) -> tuple[int, Counter[str]]:
    """Does it to each, in a transaction of its own; how many it was done to, and the states of the others."""
    answers = Counter(verb(jobs.db, job) for job in list(jobs.values_list("pk", flat=True)[:MOST]))
    done = answers.pop(None, 0)
    return done, Counter({state: count for state, count in answers.items() if state is not None})
