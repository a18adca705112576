"""Schedules in the admin: when each comes, how it last went, and buttons to run it now and to pause it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext as _

from .. import timetable
from ..databases import database
from ..lifecycle import notices
from ..lifecycle.figures import alive
from ..lifecycle.pausing import paused
from ..lifecycle.repeating import Repeating
from ..lifecycle.scheduling import cancelled, open_
from ..models import Job, Schedule
from ..registry import find
from ..timing import clock
from . import log, redaction, showing
from .pages import may
from .pauses import PERMISSION, PausingAdmin, checked
from .verbs import RUN, left, said


@dataclass(frozen=True, slots=True)
class Shown:
    """A schedule as a row of the page."""

    name: str
    repeat: str
    next: str
    last: str
    took: str
    error: str
    notes: list[str]
    paused: str
    can_run: bool
    can_open: bool


@admin.register(Schedule)
class ScheduleAdmin(PausingAdmin):
    """The schedules of the code, and those whose code is gone and whose rows are still there."""

    template = "admin/tinystore_django/schedule/page.html"
    permissions = ("view_job", RUN.permission, PERMISSION)

    def names(self, alias: str) -> set[str]:
        return set(_known(alias))

    def content(self, request: HttpRequest, alias: str) -> dict[str, Any]:
        now = database(alias).now()
        known = _known(alias)
        page = self.paged(request, list(known))
        jobs = timetable.read_some(alias, {name: known[name] for name in page}, now)
        since, workers = paused(alias), alive(alias)
        at = clock.to_datetime(now)
        rows = [_shown(job, at, since.get(job.queue), _notes(alias, job.queue, workers[job.queue])) for job in jobs]
        return {"page": page, "rows": rows, "may_pause": may(request, PERMISSION), "may_run": RUN.allowed(request)}

    def operate(self, request: HttpRequest, alias: str) -> None:
        button = next((one for one in ("run", "open") if one in request.POST), None)
        if button is None:
            super().operate(request, alias)
            return
        if not RUN.allowed(request):
            raise PermissionDenied
        (self._run if button == "run" else self._open)(request, alias, checked(request.POST[button]))

    def _open(self, request: HttpRequest, alias: str, name: str) -> None:
        """Brings a schedule back that was cancelled: it comes at its next tick."""
        declaration = find(alias, name)
        if declaration is None or declaration.repeat is None:
            text = _("There is no %(name)s: nothing is changed.")
            self.message_user(request, text % {"name": name}, messages.WARNING)
            return
        opened = name in cancelled(alias)
        open_(alias, name, declaration.repeat)
        notices.changed(alias, name)
        self.say(request, name, opened, _("Opened %(name)s."), _("Nothing is changed: %(name)s was not cancelled."))

    def _run(self, request: HttpRequest, alias: str, name: str) -> None:
        keys = Job.objects.using(alias).filter(queue=name, key=name, released=False).values_list("pk", flat=True)
        outcome = RUN.apply(alias, list(keys[:1]))
        if text := said(RUN, outcome):
            log.entry(request, self.model, f"{name}: {text}", text, name)
            self.message_user(request, text, messages.SUCCESS)
        else:
            kept = left(RUN, outcome) or _("No worker has started with %(name)s yet.") % {"name": name}
            self.message_user(request, kept, messages.WARNING)


def _known(alias: str) -> dict[str, int | None]:
    return {name: row for name, row in timetable.known(alias).items() if not timetable.is_of_queue(alias, name)}


def _shown(job: Repeating, now: datetime, since: datetime | None, notes: list[str]) -> Shown:
    repeat = timetable.repeat_of(job)
    unread = _("%(repeat)s, which no longer reads") % {"repeat": job.repeat}
    return Shown(
        name=job.queue,
        repeat=repeat.in_words(_) if repeat else unread,
        next=_next(job, now),
        last=showing.due(job.last_run.started_at, now) if job.last_run else showing.NOTHING,
        took=timetable.took(job.last_run) if job.last_run else showing.NOTHING,
        error=showing.line(redaction.error(job.error)),
        notes=notes,
        paused=showing.away(since, now) if since else "",
        can_run=job.state in RUN.states,
        can_open=job.state == timetable.CANCELLED,
    )


def _next(job: Repeating, now: datetime) -> str:
    if job.state == "running":
        return _("it runs now")
    if job.state == "failed":
        return _("never: it has failed")
    if job.state == timetable.CANCELLED:
        return _("never: cancelled %(away)s") % {"away": showing.away(job.at, now)}
    return showing.due(job.at, now)


def _notes(alias: str, name: str, workers: int) -> list[str]:
    declaration = find(alias, name)
    notes = []
    if declaration is None:
        notes.append(_("This code declares no such schedule."))
    elif declaration.handler is None and not workers:
        notes.append(_("It has no handler."))
    if not workers:
        notes.append(_("No worker runs it."))
    return notes
