"""Queues in the admin: what waits, runs and has failed, who runs it, and a button to pause each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..databases import database
from ..databases.names import queues
from ..lifecycle.figures import MOST, Figures, alive, figures
from ..lifecycle.pausing import paused
from ..lifecycle.tallying import last_hour
from ..models import Job, Queue
from ..registry import declared, find
from ..timing import clock
from . import charts, showing, wording
from .aliases import carried, with_query
from .pages import may, sees_jobs
from .pauses import PERMISSION, PausingAdmin


@dataclass(frozen=True, slots=True)
class Count:
    """A number of jobs, and where they are listed."""

    state: str
    label: str
    shown: str
    url: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A queue as a row of the page."""

    name: str
    options: list[str]
    notes: list[str]
    workers: str
    counts: list[Count]
    oldest: str
    paused: str
    charts: list[charts.Chart]


@admin.register(Queue)
class QueueAdmin(PausingAdmin):
    """The queues that this code declares, and those that have rows, a pause or a worker without being declared."""

    template = "admin/tinystore_django/queue/page.html"
    permissions = ("view_queue", PERMISSION)
    per_page = 50

    def names(self, alias: str) -> list[str]:
        return _names(alias, {*paused(alias), *alive(alias)})

    def content(self, request: HttpRequest, alias: str) -> dict[str, Any]:
        since, workers = paused(alias), alive(alias)
        page = self.paged(request, _names(alias, {*since, *workers}))
        names, now = list(page), clock.to_datetime(database(alias).now())
        of_states, hours = figures(alias, names), last_hour(alias, names)
        jobs = self.list_of("job") if self.admin_site.is_registered(Job) and sees_jobs(request) else ""
        rows = [
            Shown(
                name,
                *_about(alias, name, workers[name]),
                counts=_counts(of_states[name], jobs, {"queue": name, **carried(request)}),
                oldest=_oldest(of_states[name], now),
                paused=showing.away(since[name], now) if name in since else "",
                charts=charts.of_hour(hours[name]),
            )
            for name in names
        ]
        return {"page": page, "rows": rows, "may_pause": may(request, PERMISSION)}


def _names(alias: str, more: set[str]) -> list[str]:
    """The queues' names, without those of schedules, which have a page of their own."""
    known = {one.name: one for one in declared() if one.alias == alias}
    schedules = {name for name, one in known.items() if one.repeat}
    return sorted({*known, *queues(alias), *more} - schedules)


def _about(alias: str, name: str, workers: int) -> tuple[list[str], list[str], str]:
    """Its options, what an operator has to be told of it, and how many workers run it, in words."""
    declaration = find(alias, name)
    options = wording.options(declaration.options) if declaration else []
    notes = []
    if declaration is None:
        notes.append(_("This code declares no such queue."))
    # A worker that runs it has a handler, whatever this process knows.
    elif declaration.handler is None and not workers:
        notes.append(_("It has no handler."))
    if not workers:
        notes.append(_("No worker runs it."))
    return options, notes, showing.number(workers)


def _counts(found: Figures, jobs: str, query: dict[str, str]) -> list[Count]:
    of_states = {
        "waiting": (_("Waiting"), found.waiting),
        "scheduled": (_("Scheduled"), found.scheduled),
        "running": (_("Running"), found.running),
        "failed": (_("Failed"), found.failed),
    }
    return [
        Count(state, label, showing.capped(count, MOST), with_query(jobs, {**query, "state": state}) if jobs else "")
        for state, (label, count) in of_states.items()
    ]


def _oldest(found: Figures, now: datetime) -> str:
    return showing.away(found.oldest, now) if found.oldest else showing.NOTHING
