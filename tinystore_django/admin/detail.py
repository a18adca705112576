"""All there is to say of one job, for its own page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from ..errors import CorruptError
from ..lifecycle import flaws
from ..lifecycle.locking import NOT_STARTED, State, known
from ..lifecycle.reading import due_at, state_of
from ..models import Job, Lease, Step
from ..registry import Declaration, find
from ..timing import clock
from ..timing.repeats import Repeat, read
from ..withholding import hides
from . import redaction, showing
from .filters import STATE_NAMES

TIMES = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the page."""

    name: str
    label: str
    shown: Any


def state_name(job: Any) -> str:
    """A job's state in the operator's language; a cancelled one's row is there until its run has ended."""
    return _("cancelled") if job.cancelled else str(STATE_NAMES[state_of(job, job.now)])


def facts(job: Any) -> list[Fact]:
    """The lines of a job's page, in order; `job` was read with `now`."""
    declaration = find(job._state.db, job.queue)
    now = clock.to_datetime(job.now)
    return [
        Fact("queue", _("queue"), _queue(job, declaration)),
        Fact("named", _("id"), showing.name(job.key)),
        Fact("state_now", _("state"), state_name(job)),
        Fact("due_at", _("due"), showing.due(due_at(job), now)),
        Fact("attempt", _("attempt"), _attempt(job, declaration)),
        Fact("group", _("group"), showing.name(job.group)),
        Fact("repeat", _("repeat"), _repeat(job)),
        Fact("progress_shown", _("progress"), _progress(job)),
        Fact("started", _("started"), _since(job.started_at, now)),
        Fact("worker", _("worker"), _worker(job, now)),
        Fact("last_run", _("last run"), _last_run(job)),
        Fact("kept_to", _("kept until"), _since(job.kept_until, now)),
        Fact("error_shown", _("error"), showing.block(redaction.error(flaws.flaw_of(job) or job.error))),
        Fact("traceback_shown", _("traceback"), showing.block(job.traceback)),
        Fact("value_shown", _("value"), _value(job, declaration)),
    ]


def steps(job: Job) -> list[tuple[str, str]]:
    """The finished steps of a job and their answers, in the order in which they were kept."""
    rows = Step.objects.using(job._state.db).filter(job=job.pk).order_by("pk")
    return [(showing.name(row.name), redaction.value(known(job.queue), row.answer)) for row in rows]


def _queue(job: Job, declaration: Declaration | None) -> str:
    if declaration is None:
        return _noted(job.queue, _("no code of this process declares it"))
    return _noted(job.queue, "" if declaration.handler else _("it has no handler in this process"))


def _attempt(job: Job, declaration: Declaration | None) -> str:
    if declaration is None:
        return str(job.attempt)
    return _("%(attempt)s of %(most)s") % {"attempt": job.attempt, "most": declaration.options.attempts}


def _repeat(job: Any) -> str:
    if job.repeat is None:
        return showing.NOTHING
    try:
        repeat = read(job.repeat)
    except CorruptError:
        return _noted(job.repeat, _("it no longer reads"))
    times = format_html_join("", "<li>{}</li>", ((showing.moment(at),) for at in islice(_next(job, repeat), TIMES)))
    return format_html('{} <ol class="tinystore-times">{}</ol>', repeat.in_words(_), times)


def _next(job: Any, repeat: Repeat) -> Iterator[datetime]:
    """When it is to run, as long as nothing changes that."""
    at = job.now
    if job.state in NOT_STARTED:
        yield job.at
        at = max(at, clock.from_datetime(job.at))
    while job.state != State.FAILED and (at := repeat.next(at)) < clock.LATEST:
        yield clock.to_datetime(at)


def _progress(job: Job) -> str:
    if job.state != State.RUNNING or not job.progress:
        return showing.NOTHING
    queue = known(job.queue)
    return format_html("{} {}", redaction.progress(queue, job.progress), redaction.value(queue, job.progress))


def _worker(job: Job, now: datetime) -> str:
    """The worker that holds it, and until when that is sure."""
    if job.state != State.RUNNING:
        return showing.NOTHING
    # Freed by hand, it has none, and SQLite takes any text there.
    held = isinstance(job.lease, int)
    lease = Lease.objects.using(job._state.db).filter(pk=known(job.lease)).first() if held else None
    if lease is None:
        return _("lost: another worker takes the job back soon")
    ends = known(lease.expires_at)
    text = _("its lease ends %(away)s unless it renews it") if ends > now else _("its lease ended %(away)s")
    return _noted(lease.name, text % {"away": showing.away(ends, now)})


def _last_run(job: Job) -> str:
    if job.last_ended_at is None:
        return showing.NOTHING
    return format_html("{} – {}", showing.moment(job.last_started_at), showing.moment(job.last_ended_at))


def _since(at: datetime | None, now: datetime) -> str:
    return showing.NOTHING if at is None else showing.due(at, now)


def _value(job: Job, declaration: Declaration | None) -> str:
    shown = redaction.value(known(job.queue), job.value)
    return shown if declaration is None else format_html("{}{}", _unreadable(job, declaration), shown)


def _unreadable(job: Job, declaration: Declaration) -> str:
    try:
        declaration.codec.read(job.value)
    except CorruptError as error:
        # The error names keys, and may quote what it met.
        why = error.without_values if hides() else error
        return format_html('<p class="tinystore-note">{} {}</p>', _("It no longer reads as its queue's type."), why)
    return ""


def _noted(text: str | None, note: str) -> str:
    """A text, and something to say of it."""
    return (
        format_html('{} <span class="tinystore-note">{}</span>', showing.name(text), note)
        if note
        else (showing.name(text))
    )
