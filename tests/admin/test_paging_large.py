"""The list in a table of 200,000 jobs: by indexes alone, in whichever order the jobs were added."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from tests.admin.conftest import chosen_all
from tinystore_django import models

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.checkout]
JOBS_IN_ALL = 200_000
# What a page may touch: the counts of 10,000, a page's own rows, and no more.
MOST_ROWS = 40_000


@pytest.fixture(scope="module")
def operator(django_db_setup: None, django_db_blocker: Any) -> Iterator[Client]:
    """A superuser's browser, and the table, which is emptied afterwards."""
    from benchmarks.admin import fill  # not beside the installed wheel

    with django_db_blocker.unblock():
        fill(JOBS_IN_ALL)
        client = Client()
        client.force_login(User.objects.create_superuser("olga"))
        yield client
        with connection.cursor() as cursor:
            cursor.execute("truncate tinystore_django_job")
        User.objects.all().delete()


@pytest.mark.django_db(transaction=False)
def test_every_page_reads_few_rows_in_few_queries(operator: Client) -> None:
    from benchmarks.admin import pages

    for what, url in pages(JOBS_IN_ALL).items():
        operator.get(url, follow=True)
        began = time.perf_counter()
        rows, queries = _read(operator, url)

        assert queries < 30, what
        assert rows < MOST_ROWS, (what, rows)
        assert time.perf_counter() - began < 3, what  # ten times what is promised: a machine may be busy


def _read(client: Client, url: str) -> tuple[int, int]:
    """How many rows the nodes of all plans of a page looked at, and how many queries it made."""
    rows = queries = 0

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal rows, queries
        queries += 1
        if re.search("tinystore_django_job", sql):
            execute(f"explain (analyze, format json) {sql}", params, many, context)
            answer = context["cursor"].fetchone()[0]
            rows += _rows((json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        client.get(url, follow=True)
    return rows, queries


def _rows(plan: dict[str, Any]) -> int:
    """The rows that the scans below a node gave or threw away."""
    own = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) if "Relation Name" in plan else 0
    return int(own * plan["Actual Loops"]) + sum(_rows(one) for one in plan.get("Plans", []))


@pytest.mark.django_db(transaction=False)
def test_twenty_thousand_failed_jobs_are_retried_in_ten_seconds_and_a_hundred_queries(operator: Client) -> None:
    queues = [f"queue-{number}" for number in range(4)]
    failed = models.Job.objects.filter(state=models.Job.State.FAILED, queue__in=queues).count()
    assert failed > 19_000
    queries = 0

    def count(execute: Any, *arguments: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*arguments)

    began = time.perf_counter()
    with connection.execute_wrapper(count):
        messages = [chosen_all(operator, "retry_now", f"?state=failed&queue={queue}").messages for queue in queues]

    assert time.perf_counter() - began < 10
    assert queries <= 100
    assert sum(int(re.sub(r"\D", "", message)) for (message,) in messages) == failed
    assert chosen_all(operator, "retry_now", f"?state=failed&queue={queues[0]}").messages[0].startswith("No such job")
