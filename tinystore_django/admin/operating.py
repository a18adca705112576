"""The actions of the list and the buttons of a job's page, which are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ..lifecycle.operating import Outcome, batches
from ..models import Job
from . import log
from .aliases import carried
from .forms import MoveForm
from .many import KEY, NEWEST, Chosen, by_queue, is_schedule, summary
from .verbs import CANCEL, MOVE, RETRY, RUN, VERBS, Verb, left, said

if TYPE_CHECKING:
    JobModelAdmin = admin.ModelAdmin[Job]
else:
    JobModelAdmin = admin.ModelAdmin

NONE_LEFT = gettext_lazy("No such job is left: nothing was done.")


class OperatingAdmin(JobModelAdmin):
    """What may be done to jobs, each by a permission of its own that is asked for here, on the server."""

    actions = ("retry_now", "run_now", "move_time", "cancel")

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return RETRY.allowed(request)

    def has_move_permission(self, request: HttpRequest) -> bool:
        return MOVE.allowed(request)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return CANCEL.allowed(request)

    @admin.action(description=RETRY.label, permissions=["retry"])
    def retry_now(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Starts failed jobs again."""
        self._operate_many(RETRY, Chosen(request, queryset))

    @admin.action(description=RUN.label, permissions=["retry"])
    def run_now(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Makes scheduled jobs due now."""
        self._operate_many(RUN, Chosen(request, queryset))

    @admin.action(description=gettext_lazy("Move the time…"), permissions=["move"])
    def move_time(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Asks for a time, and makes jobs that have not started due then."""
        form, chosen = _move_form(request, queryset.db), Chosen(request, queryset)
        if not form.is_valid():
            return self._ask_time(request, form, _posted(chosen), **self._of_many(MOVE, chosen))
        self._operate_many(MOVE, chosen, form.cleaned_data["time"])
        return None

    @admin.action(description=CANCEL.label, permissions=["cancel"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Takes jobs away, more than one once it was asked; the handlers of running ones are told to stop."""
        chosen = Chosen(request, queryset)
        if not chosen.confirmed:
            what = self._of_many(CANCEL, chosen)
            if what and what["summary"].total > 1:
                title = gettext_lazy("Cancel these jobs?")
                return self._ask(request, "sure_many.html", title=title, hidden=_pairs(_posted(chosen)), **what)
        self._operate_many(CANCEL, chosen)
        return None

    def response_action(self, request: Any, queryset: QuerySet[Job], *args: Any, **kwargs: Any) -> Any:
        """Leaves out what can be no primary key: Django would answer it with a 500."""
        ticked = request.POST.copy()
        ticked.setlist(ACTION_CHECKBOX_NAME, [one for one in ticked.getlist(ACTION_CHECKBOX_NAME) if _is_key(one)])
        request.POST = ticked
        return super().response_action(request, queryset, *args, **kwargs)

    def operate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What a button of a job's page does."""
        verb = VERBS.get(request.POST.get("verb", ""))
        job = self.get_object(request, unquote(object_id))
        if verb is None or not verb.allowed(request):
            raise PermissionDenied
        if job is None:
            self.message_user(request, NONE_LEFT, messages.WARNING)
            return self._to(request, "changelist")
        rows = self.get_queryset(request).filter(pk=job.pk)
        form = _move_form(request, rows.db)
        if (asked := self._ask_first(request, verb, job, form)) is not None:
            return asked
        more = [form.cleaned_data["time"]] if verb is MOVE else []
        outcome = verb.apply(rows.db, [job.pk], *more)
        self._say(request, verb, outcome)
        if outcome.done:
            log.entry(request, Job, str(job), _of(verb, outcome), log.object_id(rows.db, job.pk))
        return self._to(request, "change", job.pk) if rows.exists() else self._to(request, "changelist")

    def _ask_first(self, request: HttpRequest, verb: Verb, job: Job, form: MoveForm) -> HttpResponse | None:
        """What has to be known before it is done: that a cancel is meant, and when to move to."""
        if verb is CANCEL and "sure" not in request.POST:
            title, schedule = gettext_lazy("Cancel this job?"), is_schedule(job)
            return self._ask(request, "sure.html", job=job, title=title, schedule=schedule)
        if verb is MOVE and not form.is_valid():
            return self._ask_time(request, form, {"verb": [verb.name]}, job=job)
        return None

    def _of_many(self, verb: Verb, chosen: Chosen) -> dict[str, Any]:
        """What a page that asks says of more than one job."""
        if not chosen.many:
            return {}
        changelist: Any = self.get_changelist_instance(chosen.request)
        counts, complete = chosen.counted(changelist.rows)
        return {"chosen": chosen, "words": chosen.words(verb), "summary": summary(verb, counts, complete)}

    def _operate_many(self, verb: Verb, chosen: Chosen, *more: Any) -> None:
        """Does it to what was chosen in the list, and says what came of it."""
        words, keys = chosen.words(verb), chosen.keys()  # as they are before it is done
        outcome = Outcome()
        try:
            for batch in batches(keys):
                outcome += verb.apply(chosen.jobs.db, batch, *more)
        finally:
            # Also where the request is ended in between: what was done stays done.
            _log_many(verb, chosen, words, outcome)
        self._say(chosen.request, verb, outcome)
        if text := chosen.said_of_schedules():
            self.message_user(chosen.request, text, messages.WARNING)
        elif not keys:
            self.message_user(chosen.request, NONE_LEFT, messages.WARNING)

    def _say(self, request: HttpRequest, verb: Verb, outcome: Outcome) -> None:
        if text := said(verb, outcome):
            self.message_user(request, text, messages.SUCCESS)
        if text := left(verb, outcome):
            self.message_user(request, text, messages.WARNING)

    def _ask_time(
        self, request: HttpRequest, form: MoveForm, hidden: Mapping[str, list[str]], **more: Any
    ) -> HttpResponse:
        title = gettext_lazy("Move the time")
        return self._ask(request, "move.html", form=form, hidden=_pairs(hidden), title=title, **more)

    def _ask(self, request: HttpRequest, template: str, **more: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), **self.kept(request), **more}
        request.current_app = self.admin_site.name
        return TemplateResponse(request, f"admin/tinystore_django/job/{template}", context)

    def _to(self, request: HttpRequest, page: str, *arguments: Any) -> HttpResponse:
        url = reverse(f"admin:tinystore_django_job_{page}", args=arguments, current_app=self.admin_site.name)
        return HttpResponseRedirect(add_preserved_filters(self.kept(request), url))

    def kept(self, request: HttpRequest) -> dict[str, Any]:
        """What `add_preserved_filters` needs, so that a link leads to the same database, and back to the list as it
        was."""
        filters = self.get_preserved_filters(request)
        return {"opts": self.opts, "preserved_filters": filters, "preserved_qsl": carried(request)}


def _move_form(request: HttpRequest, alias: str) -> MoveForm:
    """Filled in as soon as there is a time to look at: before that, nothing is wrong."""
    return MoveForm(request.POST if request.POST.get("time") else None, alias)


def _posted(chosen: Chosen) -> dict[str, list[str]]:
    """What an action's form is posted with again, once more was asked; jobs added from now on are not meant."""
    names = ("action", "index", "select_across", ACTION_CHECKBOX_NAME)
    posted = {name: chosen.request.POST.getlist(name) for name in names}
    return {**posted, NEWEST: [str(chosen.newest())]} if chosen.all else posted


def _pairs(hidden: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, values in hidden.items() for value in values]


def _log_many(verb: Verb, chosen: Chosen, words: str, outcome: Outcome) -> None:
    """One entry in Django's log, if anything was done: what, to how many, and which jobs were chosen."""
    if outcome.done:
        which = _("Chosen: %(jobs)s.") % {"jobs": words}
        sentences = (_of(verb, outcome), chosen.said_of_schedules(), by_queue(outcome.queues), which)
        name = f"{said(verb, outcome).rstrip('.')} ({words})"
        log.entry(chosen.request, Job, name, " ".join(filter(None, sentences)))


def _of(verb: Verb, outcome: Outcome) -> str:
    """What was done, and what was left as it is."""
    return " ".join(filter(None, (said(verb, outcome), left(verb, outcome))))


def _is_key(text: str) -> bool:
    return KEY.fullmatch(text) is not None
