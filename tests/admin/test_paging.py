"""No page of the admin counts a whole table."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import Pages
from tinystore_django import Queue, models
from tinystore_django.admin import paging

pytestmark = pytest.mark.django_db
UNBOUNDED = re.compile(r"count\((?!.*\blimit \d)", re.IGNORECASE | re.DOTALL)


@pytest.mark.parametrize("query", [{}, {"state": "waiting"}, {"q": "a"}, {"_facets": "True"}])
def test_every_count_of_jobs_has_a_limit(query: dict[str, str], emails: Queue[Any], listed: Pages) -> None:
    emails.add(None, id="a")

    with CaptureQueriesContext(connection) as queries:
        assert listed(**query).status == 200

    counts = [one["sql"] for one in queries if "count(" in one["sql"].lower() and "tinystore" in one["sql"]]
    assert counts
    assert [sql for sql in counts if UNBOUNDED.search(sql)] == []


def test_rows_are_counted_up_to_the_most_that_is_shown(
    emails: Queue[Any], listed: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST", 3)
    for _ in range(5):
        emails.add(None)

    assert paging.CappedPaginator(models.Job.objects.order_by("pk"), 2).count == 3
    assert "3 jobs" in listed().html


def test_the_list_reads_no_column_that_may_be_long(emails: Queue[Any], listed: Pages) -> None:
    emails.add("a value of any length")

    with CaptureQueriesContext(connection) as queries:
        listed()

    rows = [one["sql"] for one in queries if '"tinystore_django_job"."queue"' in one["sql"]]
    assert rows
    assert [sql for sql in rows if '"value"' in sql or '"traceback"' in sql] == []
