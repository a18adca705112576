"""Queues on more than one database."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page
from tests.admin.tables import see
from tests.byhand import Hand
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle.locking import State
from tinystore_django.lifecycle.pausing import paused

pytestmark = pytest.mark.django_db(databases=["default", "other"])


@pytest.fixture
def parcels(emails: Queue[Any]) -> Queue[Any]:
    """A queue of another database, with a failed job; a letter waits on the first."""
    emails.add("letter", id="letter")
    queue = Store(using="other").queue("parcels", attempts=1)
    queue.add("parcel", id="parcel", delay="1h")
    return queue


def test_there_is_no_choice_where_there_is_one_database(emails: Queue[Any], admin_client: Client) -> None:
    assert "By database" not in Page(admin_client.get(JOBS)).html


def test_a_list_is_of_the_database_that_was_chosen(parcels: Queue[Any], admin_client: Client) -> None:
    first, other = Page(admin_client.get(JOBS)), Page(admin_client.get(f"{JOBS}?database=other"))

    assert (first.column("named"), other.column("named")) == (["letter"], ["parcel"])
    assert "By database" in " ".join(first.html.split())
    assert ">parcels</a>" in other.html
    assert ">parcels</a>" not in first.html


def test_the_links_of_a_list_lead_to_jobs_of_its_database(parcels: Queue[Any], admin_client: Client) -> None:
    job = models.Job.objects.using("other").get()
    url = f"{JOBS}{job.pk}/change/?database=other"

    links = re.findall(r'href="([^"]*/change/[^"]*)"', Page(admin_client.get(f"{JOBS}?database=other")).html)
    assert [parse_qs(urlsplit(html.unescape(link)).query)["database"] for link in links] == [["other"]] * 2
    page = Page(admin_client.get(url))
    assert page.field("named") == "parcel"
    assert f'action="{JOBS}{job.pk}/operate/?database=other"' in page.html


def test_actions_and_buttons_are_for_jobs_of_that_database(parcels: Queue[Any], admin_client: Client) -> None:
    job = models.Job.objects.using("other").get()
    where = "?database=other"

    admin_client.post(f"{JOBS}{where}", {"action": "run_now", "_selected_action": [str(job.pk)]})
    assert parcels.get("parcel").state == "waiting"  # type: ignore[union-attr]

    answer = admin_client.post(f"{JOBS}{job.pk}/operate/{where}", {"verb": "move_time", "time": "1h"})
    assert answer["Location"] == f"{JOBS}{job.pk}/change/{where}"
    assert parcels.get("parcel").state == "scheduled"  # type: ignore[union-attr]

    answer = admin_client.post(f"{JOBS}{job.pk}/operate/{where}", {"verb": "cancel", "sure": "yes"})
    assert answer["Location"] == f"{JOBS}{where}"
    assert parcels.get("parcel") is None


def test_a_worker_of_the_other_database_is_shown(parcels: Queue[Any], admin_client: Client) -> None:
    parcels.add("x", id="x")
    Hand("other").take_one(parcels)
    job = models.Job.objects.using("other").get(state=State.RUNNING)

    assert Page(admin_client.get(f"{JOBS}{job.pk}/change/?database=other")).field("worker").startswith("by hand")


def test_a_database_that_cannot_hold_a_queue_is_none_to_choose(emails: Queue[Any], admin_client: Client) -> None:
    nowhere = Store(using="nowhere")
    nowhere.queue("lost")

    page = Page(admin_client.get(f"{JOBS}?database=nowhere"))

    assert (page.status, page.note) == (200, "Nothing is shown. There is no database “nowhere”.")


@pytest.mark.parametrize("model", ["queue", "schedule", "lease"])
def test_a_page_of_a_database_that_there_is_not_shows_nothing(
    model: str, parcels: Queue[Any], shop: Store, admin_client: Client
) -> None:
    shop.schedule("cleanup", every="1h").run_due(lambda: None)

    page = see(admin_client, f"/admin/tinystore_django/{model}/", database="oter")

    assert (page.status, page.rows, page.note) == (200, [], "Nothing is shown. There is no database “oter”.")


@pytest.mark.parametrize(("model", "name"), [("queue", "emails"), ("schedule", "cleanup")])
def test_a_button_for_a_database_that_there_is_not_does_nothing(
    model: str, name: str, parcels: Queue[Any], shop: Store, admin_client: Client
) -> None:
    shop.schedule("cleanup", every="1h").run_due(lambda: None)
    before = models.Job.objects.get(queue="cleanup").at

    for button in ("pause", "run"):
        admin_client.post(f"/admin/tinystore_django/{model}/?database=oter", {button: name})

    assert paused("default") == paused("other") == {}
    assert models.Job.objects.get(queue="cleanup").at == before


def test_a_job_of_a_database_that_there_is_not_is_none_of_another(parcels: Queue[Any], admin_client: Client) -> None:
    job = models.Job.objects.get()
    where = "?database=oter"

    assert "letter" not in Page(admin_client.get(f"{JOBS}{job.pk}/change/{where}", follow=True)).html
    admin_client.post(f"{JOBS}{job.pk}/operate/{where}", {"verb": "cancel", "sure": "yes"})

    assert models.Job.objects.filter(pk=job.pk).exists()
