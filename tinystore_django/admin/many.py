"""The jobs that an action of the list is for: which they are, in words and in numbers."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.forms import BooleanField
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .. import timetable
from ..databases.known import numbers_in
from ..lifecycle.reading import state_of
from ..lifecycle.repeating import Name, rows_of_schedules
from ..models import Job
from . import showing
from .aliases import carried
from .filters import STATE_NAMES
from .paging import MOST, JobRows
from .unread import quoted
from .verbs import Verb

KEY = re.compile(r"[0-9]{1,18}")
NEWEST = "newest"
NAMED = 10  # jobs, or queues, that a text names
SHOWN = 50  # lines of a summary
COLUMNS = ("queue", "key", "state", "at", "cancelled", "kept_until")


@dataclass(frozen=True)
class Chosen:
    """What was chosen in the list: jobs that are ticked, or all that its filters match."""

    request: HttpRequest
    jobs: QuerySet[Job]

    @cached_property
    def all(self) -> bool:
        """Whether all that match are meant; as Django reads it."""
        return bool(BooleanField(required=False).clean(self.request.POST.get("select_across")))

    @cached_property
    def many(self) -> bool:
        """Whether they may be more than one."""
        return self.all or len(set(self.request.POST.getlist(ACTION_CHECKBOX_NAME))) > 1

    @cached_property
    def schedules(self) -> frozenset[int]:
        """The rows that an action on many leaves out: a schedule is operated by itself."""
        if not self.many or self.jobs.query.is_empty():  # of an address that means nothing
            return frozenset()
        named = [Name(queue)] if (queue := self.request.GET.get("queue")) else []
        found = rows_of_schedules(self.jobs.db, named)
        return frozenset(row for name, row in found.items() if not timetable.is_of_queue(self.jobs.db, name))

    @cached_property
    def left_out(self) -> int:
        """How many schedules were chosen among many jobs."""
        return self._of_schedules.count() if self.schedules else 0

    @property
    def _of_schedules(self) -> QuerySet[Job]:
        return self.jobs.filter(pk__in=numbers_in(self.jobs.db, self.schedules))

    @property
    def _of_others(self) -> QuerySet[Job]:
        return self.jobs.exclude(pk__in=numbers_in(self.jobs.db, self.schedules))

    @property
    def confirmed(self) -> bool:
        """Whether it was said that they are meant, of what was shown."""
        newest = self.request.POST.get(NEWEST)
        return "sure" in self.request.POST and (newest is None or KEY.fullmatch(newest) is not None)

    def newest(self) -> int:
        """The latest job of all."""
        return Job.objects.using(self.jobs.db).order_by("-pk").values_list("pk", flat=True).first() or 0

    def keys(self) -> array[int]:
        """Their primary keys, in 8 bytes each; of all that match, those that were there when it was asked."""
        newest = self.request.POST.get(NEWEST, "")
        rows = self.jobs.filter(pk__lte=int(newest)) if self.all and KEY.fullmatch(newest) else self.jobs
        found = rows.order_by("pk").values_list("pk", flat=True).iterator(10_000)
        return array("q", (key for key in found if key not in self.schedules))

    def words(self, verb: Verb) -> str:
        """Which they are: what the list is narrowed to, or the first of those that it changes by their names."""
        return in_words(self.request) if self.all else self._names(verb)

    def _names(self, verb: Verb) -> str:
        rows: Iterable[Any] = self._of_others.only(*COLUMNS).order_by("pk")
        names = [quoted(str(row)) for row in rows if state_of(row, row.now) in verb.states]
        return ", ".join([*names[:NAMED], *_more(names)])

    def counted(self, rows: JobRows) -> tuple[Counter[tuple[str, str]], bool]:
        """How many there are of each queue and state, and whether none is left uncounted; `rows` are all that match."""
        if not self.all:
            return _counted(self._of_others), True
        counts, complete = rows.by_queue()
        for which, count in _counted(self._of_schedules).items():
            counts[which] -= count if counts[which] <= MOST else 0
        return +counts, complete

    def said_of_schedules(self) -> str:
        """That schedules were left out; empty where none was."""
        text = ngettext(
            "Left out %(count)s schedule: a schedule is operated by itself.",
            "Left out %(count)s schedules: a schedule is operated by itself.",
            self.left_out,
        )
        return text % {"count": showing.number(self.left_out)} if self.left_out else ""


def _counted(jobs: QuerySet[Job]) -> Counter[tuple[str, str]]:
    rows: Iterable[Any] = jobs.only(*COLUMNS)
    return Counter((row.queue, state_of(row, row.now)) for row in rows if not row.cancelled)


@dataclass(frozen=True, slots=True)
class Line:
    """How many jobs of one queue in one state were chosen."""

    queue: str
    state: str
    count: str
    fits: bool  # whether the action changes them


@dataclass(frozen=True, slots=True)
class Summary:
    """What an action would be done to, before it is."""

    total: int  # of those that it changes, as far as they were counted
    shown: str
    lines: list[Line]
    more: int  # lines that are not shown


def summary(verb: Verb, counts: Counter[tuple[str, str]], complete: bool) -> Summary:
    """The counts by queue and state, each made up to 10,000, those that the action changes first."""
    found = sorted(counts.items(), key=lambda one: (one[0][1] not in verb.states, -one[1], one[0]))
    total = sum(min(count, MOST) for (_queue, state), count in found if state in verb.states)
    lines = [
        Line(
            quoted(queue),
            str(STATE_NAMES[state]),
            showing.capped(count, MOST),
            state in verb.states,
        )
        for (queue, state), count in found
    ]
    exact = complete and all(count <= MOST for count in counts.values())
    shown = showing.number(total) if exact else f"{showing.number(total)}+"
    return Summary(total, shown, lines[:SHOWN], max(len(lines) - SHOWN, 0))


def is_schedule(job: Job) -> bool:
    """Whether it is a schedule's, which bears its name."""
    alias, queue = str(job._state.db), str(job.queue)
    return job.key == queue and job.repeat is not None and not timetable.is_of_queue(alias, queue)


def in_words(request: HttpRequest) -> str:
    """What the list is narrowed to."""
    given = {name: quoted(request.GET.get(name, "")) for name in ("state", "queue", "group", "q")}
    said = {
        "state": f"{_('state')} {STATE_NAMES.get(given['state'], given['state'])}",
        "queue": f"{_('queue')} {given['queue']}",
        "group": f"{_('group')} {given['group']}",
        "q": _("ids that begin with “%(text)s”") % {"text": given["q"]},
    }
    narrowed = [text for name, text in said.items() if given[name]]
    narrowed += [f"{_('database')} {alias}" for alias in carried(request).values()]
    return ", ".join(narrowed) or _("no filter")


def by_queue(counts: Counter[str]) -> str:
    """How many jobs of which queues, in a sentence."""
    named = [f"{quoted(name)} {showing.number(count)}" for name, count in counts.most_common(NAMED)]
    return _("By queue: %(queues)s.") % {"queues": ", ".join([*named, *_more(counts)])}


def _more(counts: Iterable[object]) -> list[str]:
    return ["…"] if len(list(counts)) > NAMED else []
