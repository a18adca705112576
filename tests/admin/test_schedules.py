"""The page of schedules: when each comes, how it last went, and what can be done to it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import pressed
from tests.admin.tables import SCHEDULES, press, see, staff
from tests.byhand import Hand, after
from tinystore_django import Queue, Schedule, Store, models
from tinystore_django.databases import database
from tinystore_django.databases.rows import NewJob
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.pausing import pause, paused
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def cleanup(shop: Store, clock: Clock) -> Schedule:
    """Every hour, opened: it comes within the hour."""
    cleanup = shop.schedule("cleanup", every="1h", attempts=1)
    cleanup.handler(lambda: clock.advance("1s250ms"))
    cleanup.run_due()
    return cleanup


def test_a_schedule_says_in_words_when_it_comes(shop: Store, clock: Clock, admin_client: Client) -> None:
    backup = shop.schedule("backup", cron="10 3 * * *", time_zone="Europe/Berlin")
    backup.run_due(lambda: None)

    row = see(admin_client, SCHEDULES).row("backup")

    assert row["options"] == "every day at 03:10 (Europe/Berlin)"
    assert row["Next"].startswith("March 2, 2026, 2:10 a.m. in 14")
    assert (row["Last"], row["Took"], row["Error"]) == ("-", "-", "-")
    assert row["notes"] == "It has no handler. No worker runs it."


def test_a_schedule_says_how_it_last_went(cleanup: Schedule, clock: Clock, admin_client: Client) -> None:
    clock.advance("1h")
    cleanup.run_due()
    clock.advance("5s")

    row = see(admin_client, SCHEDULES).row("cleanup")

    assert row["Last"].endswith("6 s ago")
    assert (row["Took"], row["Error"]) == ("1s250ms", "-")


def test_an_error_is_shown_as_the_text_of_its_first_line(shop: Store, clock: Clock, admin_client: Client) -> None:
    cleanup = shop.schedule("cleanup", every="1h", attempts=1)

    @cleanup.handler
    def fail() -> None:
        raise ValueError("<b>no</b> room\nsecond line")

    cleanup.run_due()
    clock.advance("1h")
    cleanup.run_due()

    page = see(admin_client, SCHEDULES)
    assert page.row("cleanup")["Error"] == "<b>no</b> room"
    assert "<b>no</b>" not in page.html


def test_a_schedule_that_runs_says_so(cleanup: Schedule, hand: Hand, clock: Clock, admin_client: Client) -> None:
    clock.advance("1h")
    hand.take_one(cleanup)

    page = see(admin_client, SCHEDULES)

    assert page.row("cleanup")["Next"] == "it runs now"
    assert ("run", "cleanup") not in page.buttons


def test_a_schedule_that_nothing_has_opened_is_there_and_cannot_be_run(
    shop: Store, clock: Clock, admin_client: Client
) -> None:
    shop.schedule("backup", every="1h")

    page = see(admin_client, SCHEDULES)

    assert "in " in page.row("backup")["Next"]
    assert ("run", "backup") not in page.buttons
    assert press(admin_client, SCHEDULES, "run", "backup").messages == ["No worker has started with backup yet."]


@pytest.mark.parametrize("running", [False, True])
def test_a_cancelled_schedule_says_so_and_is_opened_by_a_button(
    running: bool, cleanup: Schedule, hand: Hand, clock: Clock, admin_client: Client
) -> None:
    if running:
        clock.advance("1h")
        hand.take_one(cleanup)
    cleanup.cancel()
    clock.advance("5s")

    page = see(admin_client, SCHEDULES)
    assert (page.row("cleanup")["paused"], page.row("cleanup")["Next"]) == ("cancelled", "never: cancelled 5 s ago")
    assert ("run", "cleanup") not in page.buttons

    page = press(admin_client, SCHEDULES, "open", "cleanup")
    assert page.messages == ["Opened cleanup."]
    assert page.row("cleanup")["paused"] == ""
    assert "in " in page.row("cleanup")["Next"]
    assert ("open", "cleanup") not in page.buttons
    assert LogEntry.objects.get().change_message == "Opened cleanup."
    clock.advance("1h")
    assert cleanup.run_due() == 1


def test_a_schedule_that_was_opened_again_is_not_cancelled_any_more(
    cleanup: Schedule, clock: Clock, admin_client: Client
) -> None:
    cleanup.cancel()
    cleanup.run_due()
    models.Job.objects.all().delete()

    assert "in " in see(admin_client, SCHEDULES).row("cleanup")["Next"]


def test_a_cancel_by_the_admin_and_by_the_command_is_seen_too(cleanup: Schedule, admin_client: Client) -> None:
    pressed(admin_client, "cancel", models.Job.objects.get(), sure="yes")
    assert see(admin_client, SCHEDULES).row("cleanup")["paused"] == "cancelled"

    press(admin_client, SCHEDULES, "open", "cleanup")
    call_command("tinystore_schedules", cancel="cleanup", stdout=StringIO())
    assert see(admin_client, SCHEDULES).row("cleanup")["paused"] == "cancelled"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cleanup", "Nothing is changed: cleanup was not cancelled."),
        ("nothing", "There is no nothing: nothing is changed."),
        ("emails", "There is no emails: nothing is changed."),
    ],
)
def test_what_was_not_cancelled_is_not_opened(
    name: str, said: str, cleanup: Schedule, emails: Queue[Any], admin_client: Client
) -> None:
    assert press(admin_client, SCHEDULES, "open", name).messages == [said]
    assert (models.Job.objects.count(), LogEntry.objects.count()) == (1, 0)


def test_a_schedule_whose_code_is_gone_is_there(clock: Clock, admin_client: Client) -> None:
    database("default").insert(NewJob("forgotten", "null", "forgotten", delay=60_000_000, repeat="@every 1h +0ms"))

    row = see(admin_client, SCHEDULES).row("forgotten")

    assert row["options"] == "every 1h"
    assert row["notes"] == "This code declares no such schedule. No worker runs it."


def test_a_repeat_that_no_longer_reads_is_shown_as_it_is(clock: Clock, admin_client: Client) -> None:
    database("default").insert(NewJob("old", "null", "old", repeat="0 0 * * * Europe/<Atlantis>"))

    row = see(admin_client, SCHEDULES).row("old")

    assert row["options"] == "0 0 * * * Europe/<Atlantis>, which no longer reads"


def test_a_queues_own_job_of_its_name_is_no_schedule(emails: Queue[Any], admin_client: Client) -> None:
    emails.add(None, id="emails", every="1h")

    assert "emails" not in see(admin_client, SCHEDULES).names


def test_a_worker_that_runs_it_is_enough(cleanup: Schedule, admin_client: Client) -> None:
    assert see(admin_client, SCHEDULES).row("cleanup")["notes"] == "No worker runs it."

    leasing.take("default", "host:1", ["cleanup"], 30_000_000)
    assert see(admin_client, SCHEDULES).row("cleanup")["notes"] == ""


def test_run_now_makes_it_due_and_its_next_tick_stays(cleanup: Schedule, clock: Clock, admin_client: Client) -> None:
    tick = models.Job.objects.get().at

    page = press(admin_client, SCHEDULES, "run", "cleanup")

    assert page.messages == ["Made 1 job due now."]
    assert models.Job.objects.get().at == after()
    assert cleanup.run_due() == 1
    assert models.Job.objects.get().at == tick
    assert [(one.object_id, one.change_message) for one in LogEntry.objects.all()] == [
        ("cleanup", "Made 1 job due now.")
    ]


def test_a_second_press_says_that_it_is_due_already(cleanup: Schedule, admin_client: Client) -> None:
    press(admin_client, SCHEDULES, "run", "cleanup")

    (message,) = press(admin_client, SCHEDULES, "run", "cleanup").messages

    assert message.startswith("Left 1 job as it is (1 waiting)")
    assert LogEntry.objects.count() == 1


def test_a_schedule_is_paused_and_resumed(cleanup: Schedule, clock: Clock, admin_client: Client) -> None:
    page = press(admin_client, SCHEDULES, "pause", "cleanup")
    clock.advance("2h")

    assert page.row("cleanup")["paused"] == "paused 0 s ago"
    assert cleanup.run_due() == 0

    press(admin_client, SCHEDULES, "resume", "cleanup")
    assert cleanup.run_due() == 1


def test_who_may_view_jobs_has_no_button(cleanup: Schedule) -> None:
    client = staff("view_job")

    page = see(client, SCHEDULES)

    assert page.names.count("cleanup") == 1
    assert page.buttons == []
    for button in ("run", "open", "pause", "resume"):
        assert client.post(SCHEDULES, {button: "cleanup"}).status_code == 403
    assert paused("default") == {}


def test_each_button_has_its_permission(cleanup: Schedule) -> None:
    client = staff("retry_job")
    assert {button for button, _ in see(client, SCHEDULES).buttons} == {"run"}
    assert client.post(SCHEDULES, {"pause": "cleanup"}).status_code == 403
    assert press(client, SCHEDULES, "run", "cleanup").messages == ["Made 1 job due now."]


def test_who_may_pause_alone_runs_nothing(cleanup: Schedule) -> None:
    pause("default", "cleanup")
    client = staff("pause_queue")

    assert ("resume", "cleanup") in see(client, SCHEDULES).buttons
    assert client.post(SCHEDULES, {"run": "cleanup"}).status_code == 403


def test_who_may_not_see_jobs_does_not_see_schedules(cleanup: Schedule) -> None:
    assert staff("view_queue").get(SCHEDULES).status_code == 403


def test_a_page_asks_few_questions_however_many_schedules_there_are(
    shop: Store, clock: Clock, admin_client: Client
) -> None:
    for number in range(60):
        shop.schedule(f"schedule-{number}", every="1h").run_due(lambda: None)

    with CaptureQueriesContext(connection) as queries:
        see(admin_client, SCHEDULES)

    assert len(queries) < 15
