"""Pages of a table that may hold millions of rows: nothing here counts, sorts or walks all of it.

The list is a row of lanes, one a state. Each is read queue by queue along the index of that state, no further than
the page at hand, and what the queues have is merged.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from django.contrib.admin.views.main import ERROR_FLAG, IGNORED_PARAMS, PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..databases import lanes
from ..databases.lanes import LANES, Lane, Narrowed
from ..databases.names import names
from ..models import Job
from ..values import is_text
from . import unread
from .aliases import PARAMETER, carried, with_query
from .filters import STATES, past
from .showing import capped
from .unread import quoted

MOST = 10_000
# Of a search: an id's index knows nothing of states, so that each row it leads to is looked at.
MOST_FOUND = 1_000
MOST_IN_ALL = 100_000  # of one state over all queues


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
    """The first 10,000 jobs of a list, each read when its page is; `rows` are all that its filters leave."""

    def __init__(
        self, rows: QuerySet[Job], narrowed: Narrowed, *, state: str | None = None, queue: str | None = None
    ) -> None:
        self.rows = rows.order_by()
        self.narrowed = narrowed
        self.lanes = [lane for lane in LANES if state is None or lane.state == state]
        self.queue = queue
        self.most = MOST_FOUND if narrowed.by_id else MOST

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
                keys += lanes.part(self.rows.db, lane, self.narrowed, self._queues(lane), first, end)
            start, stop = start - count, stop - count
        rows = self.rows.in_bulk(keys)
        return [rows[key] for key in keys if key in rows]

    @cached_property
    def counts(self) -> list[int]:
        """How many each lane has; no lane is counted any more once there are more than are shown."""
        counts: list[int] = []
        for lane in self.lanes:
            left = self.most + 1 - sum(counts)
            queues = self._queues(lane)
            counts.append(lanes.count(self.rows.db, lane, self.narrowed, queues, left) if left and queues else 0)
        return counts

    def by_queue(self) -> tuple[Counter[tuple[str, str]], bool]:
        """How many there are of each queue and state, each counted up to 10,000; and whether none is left uncounted."""
        counts: Counter[tuple[str, str]] = Counter()
        complete = True
        for lane in self.lanes:
            queues = self._queues(lane)
            found = lanes.by_queue(self.rows.db, lane, self.narrowed, queues, MOST + 1, MOST_IN_ALL) if queues else {}
            counts.update({(queue, lane.state): count for queue, count in found.items()})
            complete = complete and sum(found.values()) < MOST_IN_ALL
        return counts, complete

    def _queues(self, lane: Lane) -> list[str]:
        if self.rows.query.is_empty():
            return []
        return self._names[lane.part] if self.queue is None else [self.queue]

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        return names(self.rows.db)


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
        state, queue, group = (request.GET.get(name) for name in ("state", "queue", "group"))
        rows = JobRows(
            self.queryset,
            self._narrowed(group if is_text(group) else None),
            state=state if state in STATES else None,
            queue=queue if is_text(queue) else None,
        )
        self.carried = carried(request)
        # It takes a count and slices, and its type asks for more.
        self.rows = rows
        self.paginator: Paginator[Job] = Paginator(rows, self.list_per_page)  # type: ignore[arg-type]
        page = self.paginator.get_page(self.page_num)
        self.page_num, self.result_list = page.number, page.object_list
        self.result_count = self.paginator.count
        self.multi_page = self.result_count > self.list_per_page
        # Of a list that nothing narrows these are all, and Django offers no way to them.
        narrowed = bool(self.query or self.filter_params)
        self.full_result_count, self.show_full_result_count = None if narrowed else self.result_count, False
        self.show_admin_actions, self.can_show_all = True, False

    def _narrowed(self, group: str | None) -> Narrowed:
        return Narrowed(group, self.query, past(self.query)) if self.query else Narrowed(group)

    def url_for_result(self, result: Model) -> str:
        """A job's page, of the database that the list is about."""
        return with_query(super().url_for_result(result), self.carried)
