"""What a job's links lead to once the job is gone: a page of what is known of it still, and its history."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from ..models import Job
from . import gone, log, showing, unread
from .aliases import PARAMETER, chosen_alias, with_query
from .many import KEY
from .operating import OperatingAdmin

PER_PAGE = 100


class GoneAdmin(OperatingAdmin):
    """Looks back at what was done to a job, and at the job itself when it is there no more."""

    def without_job(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page in the place of one that is of no job."""
        alias, colon, key = object_id.rpartition(":")
        if colon and KEY.fullmatch(key):  # where the log leads, of a job on another database
            url = reverse("admin:tinystore_django_job_change", args=[key], current_app=self.admin_site.name)
            return HttpResponseRedirect(with_query(url, {PARAMETER: alias}))
        if not KEY.fullmatch(object_id):
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
        context = {**self.admin_site.each_context(request), **self.kept(request), **self._gone(request, int(object_id))}
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/tinystore_django/job/gone.html", context)

    def _gone(self, request: HttpRequest, key: int) -> dict[str, Any]:
        context = {"title": _("Job")}
        if nothing := unread.database(request):
            return {**context, "became": " ".join(nothing)}
        alias = chosen_alias(request)
        seen, entries = gone.last_seen(request, alias), log.entries(Job, log.object_id(alias, key))
        return {
            **context,
            "became": gone.became(alias, key, seen, entries.exists()),
            "facts": seen and seen.facts,
            "seen_at": seen and showing.moment(seen.at),
            "entries": entries,
        }

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What was done to a job, also to one that is gone."""
        job = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        if job is None:
            return self.without_job(request, unquote(object_id))
        entries = log.entries(Job, log.object_id(chosen_alias(request), job.pk))
        paginator = self.get_paginator(request, entries, PER_PAGE)
        page = paginator.get_page(request.GET.get(PAGE_VAR))
        context = {
            "title": _("History"),
            "subtitle": showing.title(job),
            "action_list": page,
            "page_range": paginator.get_elided_page_range(page.number),
            "pagination_required": paginator.count > PER_PAGE,
        }
        return super().history_view(request, object_id, {**self.kept(request), **context, **(extra_context or {})})
