"""Pages of a table that may hold millions of rows: nothing counts all of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from ..models import Job

if TYPE_CHECKING:
    JobPaginator = Paginator[Job]
else:
    JobPaginator = Paginator

MOST = 10_000


class CappedPaginator(JobPaginator):
    """Counts up to 10,000 rows, and shows no more: a filter finds the rest."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        assert isinstance(rows, QuerySet)
        return rows.order_by().values("pk")[:MOST].count()


class JobList(ChangeList):
    """The list of jobs, read without the columns that may be long."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Job]:
        rows: QuerySet[Job] = super().get_queryset(request, exclude_parameters)
        return rows.defer("value", "traceback")
