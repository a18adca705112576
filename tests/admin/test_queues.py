"""The page of queues: what each has in each state, who runs it, and the button that pauses it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path

from tests.admin.tables import QUEUES, SCHEDULES, press, see, staff
from tests.byhand import Hand
from tinystore_django import Backoff, Concurrency, Queue, Store, models
from tinystore_django.admin import QueueAdmin
from tinystore_django.lifecycle import figures, leasing
from tinystore_django.lifecycle.pausing import pause, paused
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_each_queue_says_how_many_jobs_it_has_in_each_state(
    emails: Queue[Any], hand: Hand, admin_client: Client
) -> None:
    for state in ("done", "failed", "failed", "failed", "running", "running"):
        emails.add(None)
        held = hand.take_one(emails)
        if state != "running":
            hand.end(held, "done" if state == "done" else "failed", None)
    emails.add(None)
    emails.add(None, delay="1h")
    emails.add(None, delay="2h")

    row = see(admin_client, QUEUES).row("emails")

    assert [row[state] for state in ("Waiting", "Scheduled", "Running", "Failed")] == ["1", "2", "2", "3"]


def test_jobs_set_aside_for_their_groups_wait_too(emails: Queue[Any], clock: Clock, admin_client: Client) -> None:
    for delay in ("0s", "0s", "1h"):
        emails.add(None, group="full", delay=delay)
    models.Job.objects.update(state=models.Job.State.ASIDE)
    emails.add(None, delay="10s")
    clock.advance("20s")

    row = see(admin_client, QUEUES).row("emails")

    assert (row["Waiting"], row["Scheduled"], row["Oldest due"]) == ("3", "1", "20 s ago")


def test_counts_end_at_ten_thousand(emails: Queue[Any], admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST", 3)
    monkeypatch.setattr("tinystore_django.admin.queues.MOST", 3)
    emails.add_many(range(3))
    assert see(admin_client, QUEUES).row("emails")["Waiting"] == "3"

    emails.add_many(range(3))
    assert see(admin_client, QUEUES).row("emails")["Waiting"] == "3+"


def test_failed_jobs_past_their_keep_are_not_counted(
    emails: Queue[Any], hand: Hand, clock: Clock, admin_client: Client
) -> None:
    emails.add(None)
    hand.end(hand.take_one(emails), "failed", "no")
    clock.advance("2d")

    assert see(admin_client, QUEUES).row("emails")["Failed"] == "0"


def test_a_count_leads_to_its_jobs(emails: Queue[Any], admin_client: Client) -> None:
    emails.add(None, id="x")

    page = see(admin_client, QUEUES)
    (address,) = re.findall(r'<a href="([^"]*queue=emails&amp;state=waiting)">1</a>', page.html)

    assert "x</bdi>" in admin_client.get(address.replace("&amp;", "&")).content.decode()


def test_the_oldest_due_job_says_how_long_it_has_waited(emails: Queue[Any], clock: Clock, admin_client: Client) -> None:
    assert see(admin_client, QUEUES).row("emails")["Oldest due"] == "-"

    emails.add(None, delay="1h")
    assert see(admin_client, QUEUES).row("emails")["Oldest due"] == "-"

    emails.add(None)
    clock.advance("5s")
    assert see(admin_client, QUEUES).row("emails")["Oldest due"] == "5 s ago"


def test_a_queues_options_are_said_in_words(shop: Store, admin_client: Client) -> None:
    shop.queue(
        "parcels",
        attempts=5,
        backoff=Backoff("2s", "10m"),
        timeout="90s",
        concurrency=Concurrency(total=8, group=2),
        rate="30/s",
        group_rate="5/10s",
        dedupe="1h",
        keep_done="1d",
        max_waiting=10_000,
    )

    options = see(admin_client, QUEUES).row("parcels")["options"]

    assert options == (
        "5 attempts backoff 2s to 10m timeout 1m30s 8 at once 2 at once in a group rate 30/s "
        "rate in a group 5/10s at most 10,000 waiting ids taken for 1h failed ones kept 1w done ones kept 1d"
    )


def test_a_queue_says_who_runs_it(emails: Queue[Any], clock: Clock, admin_client: Client) -> None:
    row = see(admin_client, QUEUES).row("emails")
    assert (row["Workers"], row["notes"]) == ("0", "It has no handler. No worker runs it.")

    emails.handler(lambda value: None)
    assert see(admin_client, QUEUES).row("emails")["notes"] == "No worker runs it."

    for number in range(2):
        leasing.take("default", f"host:{number}", ["others", "emails"], 30_000_000)
    row = see(admin_client, QUEUES).row("emails")
    assert (row["Workers"], row["notes"]) == ("2", "")

    clock.advance("30s")
    assert see(admin_client, QUEUES).row("emails")["Workers"] == "0"


def test_what_a_worker_runs_has_a_handler_though_this_process_knows_none(
    emails: Queue[Any], admin_client: Client
) -> None:
    leasing.take("default", "host:1", ["emails"], 30_000_000)

    assert see(admin_client, QUEUES).row("emails")["notes"] == ""


def test_a_queue_whose_code_is_gone_is_there_as_long_as_it_has_jobs_or_is_paused(
    emails: Queue[Any], clock: Clock, admin_client: Client
) -> None:
    models.Job.objects.create(queue="forgotten", value="1", at=clock.now, due=clock.now)
    pause("default", "given-up")

    page = see(admin_client, QUEUES)

    assert page.row("forgotten")["notes"] == "This code declares no such queue. No worker runs it."
    assert page.row("forgotten")["Waiting"] == "1"
    assert page.row("given-up")["paused"] == "paused 0 s ago"


def test_schedules_have_a_page_of_their_own(shop: Store, emails: Queue[Any], admin_client: Client) -> None:
    shop.schedule("cleanup", every="1h")

    assert "emails" in see(admin_client, QUEUES).names
    assert "cleanup" not in see(admin_client, QUEUES).names


def test_a_queue_is_paused_and_resumed(emails: Queue[Any], hand: Hand, clock: Clock, admin_client: Client) -> None:
    emails.add("a")

    page = press(admin_client, QUEUES, "pause", "emails")
    clock.advance("5s")

    assert page.messages == ["Paused emails."]
    assert see(admin_client, QUEUES).row("emails")["paused"] == "paused 5 s ago"
    assert ("resume", "emails") in page.buttons
    assert hand.take(emails) == []

    page = press(admin_client, QUEUES, "resume", "emails")

    assert page.messages == ["Resumed emails."]
    assert page.row("emails")["paused"] == ""
    assert len(hand.take(emails)) == 1


def test_what_was_done_is_in_djangos_log_once_however_often_it_was_asked(
    emails: Queue[Any], admin_client: Client
) -> None:
    for button in ("pause", "pause", "resume", "resume"):
        page = press(admin_client, QUEUES, button, "emails")

    assert page.messages == ["Nothing is changed: emails was not paused."]
    entries = LogEntry.objects.order_by("pk")
    assert [(one.object_id, one.change_message) for one in entries] == [
        ("emails", "Paused emails."),
        ("emails", "Resumed emails."),
    ]
    assert admin_client.get(f"{QUEUES}emails/change/").headers["Location"] == QUEUES


def test_who_may_view_queues_has_no_button_and_pauses_nothing(emails: Queue[Any]) -> None:
    client = staff("view_queue")

    page = see(client, QUEUES)

    assert page.status == 200
    assert page.buttons == []
    assert client.post(QUEUES, {"pause": "emails"}).status_code == 403
    assert paused("default") == {}


def test_who_may_view_queues_and_not_jobs_is_led_to_none(emails: Queue[Any]) -> None:
    assert "state=waiting" not in see(staff("view_queue"), QUEUES).html


def test_who_may_pause_queues_sees_them(emails: Queue[Any]) -> None:
    client = staff("pause_queue")

    assert ("pause", "emails") in see(client, QUEUES).buttons
    assert press(client, QUEUES, "pause", "emails").messages == ["Paused emails."]


def test_who_may_neither_sees_nothing(emails: Queue[Any]) -> None:
    client = staff("view_job", "retry_job")

    assert client.get(QUEUES).status_code == 403
    assert client.post(QUEUES, {"pause": "emails"}).status_code == 403
    assert f'"{QUEUES}"' not in client.get("/admin/").content.decode()


def test_a_pause_takes_the_token_of_our_own_form(emails: Queue[Any], admin_user: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)

    assert client.post(QUEUES, {"pause": "emails"}).status_code == 403
    assert client.get(QUEUES, {"pause": "emails"}).status_code == 200
    assert paused("default") == {}


@pytest.mark.parametrize(
    "data", [{}, {"pause": "no queue's name"}, {"pause": "a\0b"}, {"pause": ""}, {"drop": "emails"}]
)
def test_what_no_button_asks_for_is_refused(data: dict[str, str], emails: Queue[Any], admin_client: Client) -> None:
    assert admin_client.post(QUEUES, data).status_code == 403
    assert not models.Queue.objects.exists()


@pytest.mark.parametrize("button", ["pause", "resume"])
@pytest.mark.parametrize("page", [QUEUES, SCHEDULES])
def test_what_is_on_no_page_is_neither_paused_nor_resumed(
    page: str, button: str, shop: Store, emails: Queue[Any], admin_client: Client
) -> None:
    shop.schedule("nightly", every="1d")
    for name in ("abc", "nightly" if page == QUEUES else "emails"):
        assert press(admin_client, page, button, name).messages == [f"There is no {name}: nothing is changed."]

    assert not models.Queue.objects.exists()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("page", ["add/", "emails/delete/", "emails/history/"])
def test_nobody_adds_or_deletes_a_queue(page: str, emails: Queue[Any], admin_client: Client) -> None:
    pause("default", "emails")

    assert admin_client.post(QUEUES + page, {"post": "yes"}).status_code in (403, 404)
    assert models.Queue.objects.count() == 1


@pytest.mark.parametrize("query", [{"p": "x"}, {"p": "-1"}, {"p": "99999"}, {"other": "1"}])
def test_a_page_that_is_none_is_one_that_there_is(
    query: dict[str, str], emails: Queue[Any], admin_client: Client
) -> None:
    page = see(admin_client, QUEUES, **query)

    assert page.status == 200
    assert "emails" in page.names


def test_many_queues_are_shown_in_pages(shop: Store, clock: Clock, admin_client: Client) -> None:
    for number in range(120):
        shop.queue(f"queue-{number:03}")

    found = [see(admin_client, QUEUES, p=str(number)).names for number in (1, 2, 3)]

    assert [len(found[0]), len(found[1])] == [50, 50]
    assert len({name for names in found for name in names if name.startswith("queue-")}) == 120


def test_the_charts_say_in_words_what_they_show(emails: Queue[Any], clock: Clock, admin_client: Client) -> None:
    for _ in range(3):
        emails.add(True)
    clock.advance("2s")
    emails.run_due(lambda value: None)

    page = see(admin_client, QUEUES)

    assert 'aria-label="Started in the last hour: 3, at most 3 in a minute"' in page.html
    assert 'aria-label="Longest wait in the last hour: 2s"' in page.html
    for caption in ("3 started", "0 failed", "waited up to 2s"):
        assert caption in page.row("emails")["The last hour"]


def test_text_in_a_row_is_shown_as_text(clock: Clock, admin_client: Client) -> None:
    evil = "<script>alert(1)</script>"
    models.Job.objects.create(queue=evil, value="1", at=clock.now, due=clock.now)

    page = see(admin_client, QUEUES)

    assert evil not in page.html
    assert evil in page.names


def test_the_page_needs_no_script_and_no_style_of_its_own(emails: Queue[Any], admin_client: Client) -> None:
    page = see(admin_client, QUEUES).html

    content = page[page.index('<div id="content"') : page.index("<footer")]
    assert re.findall(r"<script|<style| style=| on\w+=", content) == []
    assert "jquery" not in page
    assert page.count("tinystore_django/live.js") == 1


def test_a_page_asks_few_questions_however_many_queues_there_are(
    shop: Store, clock: Clock, admin_client: Client
) -> None:
    for number in range(40):
        shop.queue(f"queue-{number}").add(None)

    with CaptureQueriesContext(connection) as queries:
        see(admin_client, QUEUES)

    assert len(queries) < 15


@pytest.mark.django_db(databases=["default", "other"])
def test_the_queues_of_another_database_are_a_click_away(
    emails: Queue[Any], clock: Clock, admin_client: Client
) -> None:
    elsewhere = Store(using="other").queue("parcels")
    elsewhere.add(None)

    page = see(admin_client, QUEUES)
    assert "parcels" not in page.names
    assert 'href="?database=other"' in page.html

    page = see(admin_client, QUEUES, database="other")
    assert (page.row("parcels")["Waiting"], page.names) == ("1", ["parcels"])
    assert "queue=parcels&amp;database=other&amp;state=waiting" in page.html

    press(admin_client, f"{QUEUES}?database=other", "pause", "parcels")
    assert (set(paused("other")), paused("default")) == ({"parcels"}, {})


def test_a_site_without_the_jobs_has_queues_that_lead_to_none(emails: Queue[Any], clock: Clock, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.admin.test_queues"
    emails.add(None)

    page = see(staff("view_queue", "view_job"), "/bare/tinystore_django/queue/")

    assert (page.status, page.row("emails")["Waiting"]) == (200, "1")
    assert "state=waiting" not in page.html


# A site of a project's own that shows the queues alone.
bare = AdminSite("bare")
bare.register(models.Queue, QueueAdmin)
urlpatterns = [path("bare/", bare.urls)]
