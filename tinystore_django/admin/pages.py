"""A page of our own in the place of a model's list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.text import capfirst

from . import unread
from .aliases import PARAMETER, carried, chosen_alias, known_aliases, with_query
from .verbs import VERBS

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

PAGE = "p"


class PageAdmin(ModelAdmin):
    """Nothing is added, edited or deleted here: there is one page, with buttons that post to it."""

    template: ClassVar[str]
    permissions: ClassVar[Sequence[str]]  # each of which lets one see the page
    per_page: ClassVar[int] = 100

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name=f"{name}_changelist"),
            # Where Django's log of what was done leads.
            path("<path:object_id>/change/", view(self.change_view), name=f"{name}_change"),
        ]

    def content(self, request: HttpRequest, alias: str) -> dict[str, Any]:
        """What the template shows of a database."""
        raise NotImplementedError

    def operate(self, request: HttpRequest, alias: str) -> None:
        """What a button asks for. Raises PermissionDenied unless it may be asked for."""
        raise PermissionDenied

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        alias, nothing = chosen_alias(request), unread.database(request)
        if request.method == "POST":
            if not nothing:
                self.operate(request, alias)
            # So that reading the page again asks for nothing again.
            return HttpResponseRedirect(request.get_full_path())
        context = {
            **self.admin_site.each_context(request),
            "title": capfirst(str(self.opts.verbose_name_plural)),
            "opts": self.opts,
            "databases": _databases("" if nothing else alias),
            "query": with_query("", carried(request)),
            "unread": nothing,
            **({} if nothing else self.content(request, alias)),
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, self.template, context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(self.list_of(self.opts.model_name or ""))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return any(may(request, permission) for permission in self.permissions)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def paged(self, request: HttpRequest, rows: Sequence[Any]) -> Page[Any]:
        """The page that was asked for; the first where that means nothing."""
        return Paginator(rows, self.per_page).get_page(request.GET.get(PAGE))

    def list_of(self, model: str) -> str:
        """The address of a model's list, or of the page in its place."""
        return reverse(f"admin:{self.opts.app_label}_{model}_changelist", current_app=self.admin_site.name)


def may(request: HttpRequest, permission: str) -> bool:
    """Whether who asks has this permission on our models."""
    return request.user.has_perm(f"tinystore_django.{permission}")


def sees_jobs(request: HttpRequest) -> bool:
    """Whether who asks may see the list of jobs."""
    return may(request, "view_job") or any(verb.allowed(request) for verb in VERBS.values())


def _databases(alias: str) -> list[tuple[str, str, bool]]:
    """Where there is more than one database with queues: each, the query that leads there, and whether it is shown."""
    known = known_aliases()
    return [(one, with_query("", {PARAMETER: one}), one == alias) for one in known] if known[1:] else []
