"""The pages and the command where two thousand queues have jobs: the statements do not grow with the names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from tests.admin.tables import QUEUES, SCHEDULES, WORKERS
from tinystore_django import Store, models
from tinystore_django.lifecycle.asides import tend
from tinystore_django.lifecycle.scheduling import open_all
from tinystore_django.lifecycle.unread import take_up
from tinystore_django.options import queue_options
from tinystore_django.timing.intervals import interval

pytestmark = pytest.mark.django_db

MANY = 2_000
FAR = 4_000_000_000_000_000
JOBS = "/admin/tinystore_django/job/"
LISTS = [f"{JOBS}{query}" for query in ("", "?state=scheduled", "?q=q00", "?group=g", "?p=190")]
STATES = models.Job.State


@contextmanager
def watched() -> Iterator[tuple[list[str], list[float]]]:
    """The statements that are made, and the processor's time that each took in this process."""
    statements: list[str] = []
    seconds: list[float] = []

    def note(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        began = time.thread_time()
        try:
            return execute(sql, *more)
        finally:
            statements.append(sql)
            seconds.append(time.thread_time() - began)

    with connection.execute_wrapper(note):
        yield statements, seconds


def fill(first: int, last: int) -> None:
    """Queues, each with a job that waits, one that failed, one that runs, and its schedule."""
    every = {"repeat": "@every 1h +0ms"}
    for name in (f"q{number:05}" for number in range(first, last)):
        common = {"queue": name, "value": "null", "at": 1, "due": 1}
        ended = {"ended_at": 1, "until": FAR, "kept_until": FAR}
        ROWS.extend(
            [
                models.Job(**common, group="g"),
                models.Job(**common, state=STATES.FAILED, **ended),
                models.Job(**common, state=STATES.RUNNING, lease=1, run=1, started_at=1),
                models.Job(**{**common, "at": FAR, "due": FAR}, key=name, **every),
            ]
        )
    models.Job.objects.bulk_create(ROWS)
    ROWS.clear()


ROWS: list[models.Job] = []


def seen(call: Callable[[], Any], enough: float = 1e9) -> tuple[list[str], float]:
    """The statements of a call, and how much of the processor they took; another try where that was not enough."""
    for _ in range(3):
        with watched() as (statements, seconds):
            call()
        if sum(seconds) < enough:
            break
    return statements, sum(seconds)


def command(*names: str) -> str:
    out = StringIO()
    call_command("tinystore_schedules", *names, stdout=out)
    return out.getvalue()


def test_the_statements_are_as_many_and_as_long_for_two_thousand_queues(shop: Store, admin_client: Client) -> None:
    def page(url: str) -> None:
        assert admin_client.get(url, follow=True).status_code == 200

    calls: dict[str, Callable[[], Any]] = {url: partial(page, url) for url in (*LISTS, QUEUES, SCHEDULES, WORKERS)}

    def asked(query: str) -> None:
        chosen = {"action": "cancel", "select_across": "1", "index": "0", "_selected_action": "1"}
        assert "all that match" in admin_client.post(f"{JOBS}{query}", chosen).content.decode()

    calls |= {f"cancel of all{query}": partial(asked, query) for query in ("", "?state=failed")}
    calls["the command"] = command
    fill(0, 60)
    few = {what: seen(call)[0] for what, call in calls.items()}

    fill(60, MANY)
    for what, call in calls.items():
        statements, took = seen(call, 0.05)
        # A deep page reads more than one state, and may ask twice.
        assert len(statements) <= len(few[what]) + 6, what
        assert max(map(len, statements)) < 2_500, what
        assert took < 0.05 or connection.vendor != "sqlite", (what, took)


def test_names_that_are_typed_are_no_longer_statement(shop: Store) -> None:
    fill(0, 1_500)
    names = [f"q{number:05}" for number in range(1_500)]

    assert command(*names).count("every 1h") == 100
    assert command(*(f"{name}/{name}" for name in names)).count("every 1h") == 100


def test_schedules_and_limits_are_looked_for_in_one_statement(shop: Store) -> None:
    hourly = {f"s{number}": interval(f"s{number}", 3_600_000) for number in range(300)}
    limits = {f"l{number}": queue_options(rate="1/s") for number in range(300)}

    def begin() -> None:
        open_all("default", hourly)
        tend("default", limits)
        take_up("default", limits)

    begin()
    with watched() as (statements, _):
        begin()

    assert len(statements) < 8
    assert max(map(len, statements)) < 2_500


def test_of_many_queues_the_first_jobs_are_listed_whichever_have_them(admin_client: Client) -> None:
    """Some queues have all that comes first, and others nothing of it."""
    every = range(400)
    at = {number: (number % 7) * 1_000 + number // 7 for number in every}
    models.Job.objects.bulk_create(
        models.Job(queue=f"q{0 if number < 130 else number % 90}", key=f"j{number}", value="1", at=at[number], due=1)
        for number in every
    )
    expected = [job.pk for job in models.Job.objects.order_by("at", "pk")]

    pages: list[Any] = [admin_client.get(f"{JOBS}?p={number}") for number in range(1, 9)]

    assert [job.pk for page in pages for job in page.context_data["cl"].result_list] == expected


def test_of_many_queues_the_filter_takes_a_name_that_is_typed(admin_client: Client) -> None:
    models.Job.objects.bulk_create(models.Job(queue=f"q{number}", value="1", at=1, due=1) for number in range(200))

    every: Any = admin_client.get(JOBS)
    one: Any = admin_client.get(f"{JOBS}?state=waiting&queue=q150")

    assert "?queue=" not in every.content.decode()
    assert '<option value="q199">' in every.content.decode()
    assert '<input type="text" name="queue" value="q150"' in one.content.decode()
    assert [job.queue for job in one.context_data["cl"].result_list] == ["q150"]
