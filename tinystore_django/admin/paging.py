"""Pages of a table that may hold millions of rows: nothing here counts, sorts or walks all of it.

The list is a row of lanes, one a state. Each is read queue by queue along the index of that state, no further than
the page at hand, and what the queues have is merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.admin.views.main import ERROR_FLAG, IGNORED_PARAMS, PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db import connections
from django.db.models import F, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..databases.names import queues
from ..lifecycle.locking import State
from ..models import Job
from ..values import is_text
from . import unread
from .aliases import PARAMETER, carried, with_query
from .filters import KEPT, STATES
from .showing import capped
from .unread import quoted

MOST = 10_000
# Of a search: an id's index knows nothing of states, so that each row it leads to is looked at.
MOST_FOUND = 1_000


TAKEN = Q(released=False)


@dataclass(frozen=True, slots=True)
class Lane:
    """The jobs of one state, in the order of its index in each queue. `now` is an annotation."""

    state: str
    rows: Q
    order: tuple[str, ...]
    # The index of ids holds those that are taken. Those of done and cancelled jobs may be free: done ones have an index
    # of their own, and few run.
    named: Q = TAKEN


DUE, COMING = Q(at__lte=F("now")), Q(at__gt=F("now"))
# Each is a range of one index and says nothing that its index does not hold: the rows themselves are not looked at.
LANES = (
    Lane("running", Q(state=State.RUNNING), ("started_at", "pk"), named=Q()),
    Lane("failed", Q(state=State.FAILED) & KEPT, ("-ended_at", "-pk")),
    Lane("waiting", Q(state=State.READY) & DUE, ("at", "pk")),
    Lane("waiting", Q(state=State.ASIDE) & DUE, ("group", "at", "pk")),
    Lane("scheduled", Q(state=State.READY) & COMING, ("at", "pk")),
    Lane("scheduled", Q(state=State.ASIDE) & COMING, ("group", "at", "pk")),
    Lane("done", Q(state=State.DONE) & KEPT, ("-ended_at", "-pk"), named=Q()),
)
# Where ids are searched, their own index is the way.
BY_ID = ("key", "pk")


class Count(int):
    """A count that is read as "10,000+" where there are more."""

    text: str

    def __new__(cls, found: int, most: int) -> Count:
        count = super().__new__(cls, min(found, most))
        count.text = capped(found, most)
        return count

    def __str__(self) -> str:
        return self.text


class JobRows:
    """The first 10,000 jobs of a list, each read when its page is."""

    def __init__(
        self, rows: QuerySet[Job], *, state: str | None = None, queue: str | None = None, by_id: bool = False
    ) -> None:
        self.rows = rows.order_by()
        self.lanes = [lane for lane in LANES if state is None or lane.state == state]
        self.queue = queue
        self.by_id = by_id
        self.most = MOST_FOUND if by_id else MOST

    def __len__(self) -> int:
        return int(self.count())

    def count(self) -> Count:
        """How many there are, counted up to 10,000; of a search, up to 1,000."""
        return Count(sum(self.counts), self.most)

    def __getitem__(self, wanted: slice) -> list[Job]:
        """A part of them, in their order."""
        keys: list[int] = []
        start, stop = wanted.start, min(wanted.stop, self.most)
        for lane, count in zip(self.lanes, self.counts, strict=True):
            first, end = max(start, 0), min(stop, count)
            if first < end:
                keys += self._keys(lane, first, end)
            start, stop = start - count, stop - count
        rows = self.rows.in_bulk(keys)
        return [rows[key] for key in keys if key in rows]

    @cached_property
    def queues(self) -> list[str]:
        if self.rows.query.is_empty():
            return []
        return queues(self.rows.db) if self.queue is None else [self.queue]

    @cached_property
    def counts(self) -> list[int]:
        """How many each lane has; no lane is counted any more once there are more than are shown."""
        counts: list[int] = []
        for lane in self.lanes:
            left = self.most + 1 - sum(counts)
            counts.append(self._merged(lane, left)[:left].count() if left and self.queues else 0)
        return counts

    def _keys(self, lane: Lane, start: int, stop: int) -> list[int]:
        rows = self._merged(lane, stop)
        # One queue's are in their order as they are.
        ordered = rows.order_by(*self._order(lane)) if len(self.queues) > 1 else rows
        return [key for key, *_ in ordered[start:stop]]

    def _merged(self, lane: Lane, most: int) -> Any:
        """The primary keys of a lane's jobs, and what they are sorted by: of many queues, the first of each."""
        rows = [self._of(lane, queue) for queue in self.queues]
        if len(rows) == 1:
            return rows[0]
        columns = self._columns(lane)
        first, *others = (_first(one, most).values_list(*columns) for one in rows)
        return first.union(*others, all=True)

    def _of(self, lane: Lane, queue: str) -> Any:
        found = lane.rows & lane.named if self.by_id else lane.rows
        return self.rows.filter(found, queue=queue).order_by(*self._order(lane)).values_list(*self._columns(lane))

    def _columns(self, lane: Lane) -> list[str]:
        return list(dict.fromkeys(("pk", *(name.lstrip("-") for name in self._order(lane)))))

    def _order(self, lane: Lane) -> tuple[str, ...]:
        return BY_ID if self.by_id else lane.order


def _first(rows: Any, most: int) -> Any:
    """The first rows of a selection, as a part of a union."""
    if connections[rows.db].features.supports_slicing_ordering_in_compound:
        return rows[:most]
    return Job.objects.using(rows.db).filter(pk__in=rows.values("pk")[:most])


FILTERS = ("state", "queue", "group", PARAMETER)


class JobList(ChangeList):
    """The list of jobs, read without the columns that may be long."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Job]:
        rows: QuerySet[Job] = super().get_queryset(request, exclude_parameters)
        self.unread = self._unread(request)
        return rows.none() if self.unread else rows.defer("value", "traceback")

    def _unread(self, request: HttpRequest) -> list[str]:
        """What the address asks for that means nothing, each in a sentence."""
        asked, known = request.GET.get(SEARCH_VAR, ""), {*FILTERS, *IGNORED_PARAMS, PAGE_VAR, ERROR_FLAG}
        search = [_("No id begins with “%(text)s”.") % {"text": quoted(asked)}] if asked and not is_text(asked) else []
        filters = [said for spec in self.filter_specs for said in getattr(spec, "unread", ())]
        return [*unread.parameters(request, known), *unread.database(request), *filters, *search]

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Our own filters alone: any other lookup could walk the whole table, or find out what is redacted."""
        return {name: given for name, given in super().get_filters_params(params).items() if name in FILTERS}

    def get_results(self, request: HttpRequest) -> None:
        """Reads the page that was asked for, or the nearest one there is."""
        state, queue = request.GET.get("state"), request.GET.get("queue")
        rows = JobRows(
            self.queryset,
            state=state if state in STATES else None,
            queue=queue if is_text(queue) else None,
            by_id=bool(self.query),
        )
        self.carried = carried(request)
        # It takes a count and slices, and its type asks for more.
        self.paginator: Paginator[Job] = Paginator(rows, self.list_per_page)  # type: ignore[arg-type]
        page = self.paginator.get_page(self.page_num)
        self.page_num, self.result_list = page.number, page.object_list
        self.result_count = self.paginator.count
        self.multi_page = self.result_count > self.list_per_page
        self.full_result_count, self.show_full_result_count = None, False
        self.show_admin_actions, self.can_show_all = True, False

    def url_for_result(self, result: Model) -> str:
        """A job's page, of the database that the list is about."""
        return with_query(super().url_for_result(result), self.carried)
