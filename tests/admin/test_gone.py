"""The page of a job that is there no more: what became of it, as it was seen last, and what was done to it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from tests.admin.conftest import JOBS, Page, Staff, pressed, text
from tests.byhand import Hand
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle.clearing import clear
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]
DONE = "It is done, and removed."


@pytest.fixture
def parcels(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue whose done jobs leave nothing."""
    queue = shop.queue("parcels", attempts=1, keep="1m")
    queue.add("a <parcel>", id="<p>", group="tea")
    return queue


def page_of(client: Client, job: models.Job, page: str = "change", query: str = "") -> Page:
    return Page(client.get(f"{JOBS}{job.pk}/{page}/{query}"))


def test_a_job_that_ends_well_while_it_is_looked_at_keeps_its_page(
    parcels: Queue[Any], clock: Clock, admin_client: Client
) -> None:
    job = models.Job.objects.get()
    page_of(admin_client, job)
    clock.advance("5s")
    parcels.run_due(lambda value: None)

    page = page_of(admin_client, job)

    assert (page.status, page.note) == (200, DONE)
    assert {
        "Queue": "parcels",
        "Id": "<p>",
        "State": "waiting",
        "Group": "tea",
    }.items() <= facts(page).items()
    assert "As it was seen last, March 1, 2026, noon" in text(page.html)
    assert page.buttons == []
    assert "<p></td>" not in page.html


def facts(page: Page) -> dict[str, str]:
    rows = page.html.split('<table class="tinystore-facts">')[1].split("</table>")[0].split("<tr>")[1:]
    return {text(row.split("</th>")[0]): text(row.split("</th>")[1]) for row in rows}


def test_a_cancelled_job_is_not_said_to_be_done(parcels: Queue[Any], admin_client: Client) -> None:
    job = models.Job.objects.get()
    page_of(admin_client, job)
    parcels.cancel("<p>")

    assert page_of(admin_client, job).note == "It was cancelled, and removed."


def test_a_failed_job_past_its_keep_says_so(
    parcels: Queue[Any], hand: Hand, clock: Clock, admin_client: Client
) -> None:
    job = models.Job.objects.get()
    hand.end(hand.take_one(parcels), "failed", "no")
    page_of(admin_client, job)
    clock.advance("61s")
    assert page_of(admin_client, job).note == "It failed, and is kept no longer."

    clock.advance("10m")
    clear("default")
    assert page_of(admin_client, job).note == (
        "It is no longer there: it is done, and removed, or was cancelled, or failed and is kept no longer."
    )


def test_what_nobody_saw_is_not_said_to_be_done(parcels: Queue[Any], admin_client: Client) -> None:
    job = models.Job.objects.get()
    parcels.run_due(lambda value: None)

    page = page_of(admin_client, job)

    assert page.note == "There is no such job: it is done, and removed, or there never was one."
    assert "seen last" not in page.html


def test_links_of_recent_actions_lead_to_the_page(five: Five, emails: Queue[Any], admin_client: Client) -> None:
    pressed(admin_client, "run_now", five["scheduled"])
    models.Job.objects.filter(key="scheduled").delete()
    admin_client.cookies.pop("tinystore_seen", None)
    address = LogEntry.objects.get().get_admin_url()

    page = Page(admin_client.get(address))

    assert (page.status, "done, and removed" in page.note) == (200, True)
    assert "admin: Made 1 job due now." in text(page.html)


def test_the_history_of_a_job_that_is_gone_is_there(five: Five, admin_client: Client) -> None:
    pressed(admin_client, "run_now", five["scheduled"])
    models.Job.objects.all().delete()

    page = page_of(admin_client, five["scheduled"], "history")

    assert (page.status, "done, and removed" in page.note) == (200, True)
    assert "Made 1 job due now." in page.html


def test_what_was_seen_is_kept_for_its_own_page_and_cannot_be_changed(
    parcels: Queue[Any], admin_client: Client
) -> None:
    job = models.Job.objects.get()
    page_of(admin_client, job)
    cookie = admin_client.cookies["tinystore_seen"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (f"{JOBS}{job.pk}/", True, "Lax")

    parcels.run_due(lambda value: None)
    admin_client.cookies["tinystore_seen"] = f"{cookie.value}x"

    assert "seen last" not in page_of(admin_client, job).html


def test_texts_too_long_for_a_cookie_are_cut(parcels: Queue[Any], admin_client: Client) -> None:
    parcels.add(None, id="\U0001f600" * 256, group="\U0001f601" * 256)
    job = models.Job.objects.get(group__startswith="\U0001f601")

    page_of(admin_client, job)
    models.Job.objects.all().delete()

    assert len(admin_client.cookies["tinystore_seen"].value) < 4_000
    assert page_of(admin_client, job).note == DONE


@pytest.mark.parametrize("page", ["change", "history"])
def test_who_sees_no_jobs_sees_none_that_are_gone(page: str, five: Five, staff: Staff) -> None:
    client = staff()
    five["failed"].delete()
    five["failed"].pk = 10**6

    assert page_of(client, five["failed"], page).status == 403


@pytest.mark.parametrize("name", ["abc", "1e9", "9" * 30, "a:b", "1:", ":"])
def test_what_can_be_no_job_is_no_error(name: str, five: Five, admin_client: Client) -> None:
    for page in ("change", "history"):
        assert admin_client.get(f"{JOBS}{name}/{page}/", follow=True).status_code == 200


@pytest.mark.django_db(databases=["default", "other"])
def test_the_log_leads_to_jobs_of_their_own_database(emails: Queue[Any], admin_client: Client) -> None:
    emails.add(None, id="letter")
    other = Store(using="other")
    other.queue("parcels").add(None, id="parcel", delay="1h")
    job = models.Job.objects.using("other").get()
    admin_client.post(f"{JOBS}{job.pk}/operate/?database=other", {"verb": "run_now"})

    page = Page(admin_client.get(LogEntry.objects.get().get_admin_url(), follow=True))
    history = page_of(admin_client, job, "history", "?database=other")

    assert page.field("named") == "parcel"
    assert "Made 1 job due now." in history.html
    assert f'href="{JOBS}{job.pk}/change/?database=other"' in history.html
    assert "Made 1 job due now." not in page_of(admin_client, models.Job.objects.get(), "history").html
