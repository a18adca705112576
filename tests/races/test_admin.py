"""An operator looks while workers work: neither is in the other's way."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import JOBS, Page, chosen_all
from tests.programs import wait_for, worker
from tests.project.jobs import marks
from tests.project.models import Mark
from tinystore_django import models

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
COUNT = 200


def test_a_list_that_is_read_again_and_again_stops_no_job(admin_client: Client) -> None:
    marks.add_many([f"m{number}" for number in range(COUNT)])

    with worker("marks", "--concurrency", "4") as one:
        looks = 0
        while models.Job.objects.exists():
            assert admin_client.get(JOBS).status_code == 200
            looks += 1
        assert not one.said(" WARNING ")
        assert not one.said("locked")

    assert looks > 3
    assert Mark.objects.count() == COUNT
    assert len(set(Mark.objects.values_list("name", flat=True))) == COUNT


def test_a_page_that_is_read_writes_nothing(admin_client: Client) -> None:
    marks.add("x", id="x")
    job = models.Job.objects.get()

    with CaptureQueriesContext(connection) as queries:
        for url in (JOBS, f"{JOBS}{job.pk}/change/"):
            admin_client.get(url)

    assert [
        query["sql"] for query in queries if not query["sql"].lower().lstrip("( \n").startswith(("select", "with"))
    ] == []


def test_an_operator_who_runs_and_cancels_all_at_once_with_workers_leaves_each_job_done_once_or_not_at_all(
    admin_client: Client,
) -> None:
    marks.add_many([f"m{number}" for number in range(COUNT)], delay="1h")

    with worker("marks", "--concurrency", "4") as one:
        one.wait_for_line("marks")
        assert chosen_all(admin_client, "run_now").messages == [f"Made {COUNT} jobs due now."]
        wait_for(Mark.objects.exists)
        (said, *_) = Page(chosen_all_response(admin_client)).messages or [""]
        wait_for(lambda: not models.Job.objects.exists())

    done = list(Mark.objects.values_list("name", flat=True))
    assert len(done) == len(set(done))
    cancelled = int(said.split()[1]) if said.startswith("Cancelled") else 0
    # One that was told to stop may have made its mark by then.
    assert COUNT - cancelled <= len(done) <= COUNT


def chosen_all_response(client: Client) -> object:
    jobs = [str(pk) for pk in models.Job.objects.values_list("pk", flat=True)]
    data = {"action": "cancel", "select_across": "1", "_selected_action": jobs[:1], "sure": "yes"}
    return client.post(JOBS, data, follow=True)
