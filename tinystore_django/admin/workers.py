"""Workers in the admin: each process by its lease, what it runs, and when it was last heard of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..databases import database
from ..lifecycle.figures import MOST, Working, working
from ..models import Lease
from ..timing import clock
from . import showing
from .pages import PageAdmin
from .stored import translated


@dataclass(frozen=True, slots=True)
class Shown:
    """A worker as a row of the page."""

    host: str
    pid: str
    version: str
    queues: tuple[str, ...]
    running: str
    started: str
    renewed: str
    woken: str
    lost: bool


@admin.register(Lease)
class WorkerAdmin(PageAdmin):
    """The workers of a database."""

    template = "admin/tinystore_django/lease/page.html"
    permissions = ("view_lease",)

    def content(self, request: HttpRequest, alias: str) -> dict[str, Any]:
        now = clock.to_datetime(database(alias).now())
        page = self.paged(request, working(alias))
        return {"page": page, "rows": [_shown(one, now) for one in page]}


def _shown(worker: Working, now: datetime) -> Shown:
    return Shown(
        host=worker.host,
        pid=worker.pid,
        version=worker.version or showing.NOTHING,
        queues=worker.queues,
        running=showing.capped(worker.running, MOST),
        started=showing.due(worker.started_at, now),
        renewed=showing.away(worker.renewed_at, now),
        woken=translated(worker.woken) or _("not at all: run_due runs what is due"),
        lost=worker.expires_at <= now,
    )
