"""The operator's list of jobs, a job's page, and what an operator may do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page, Pages, chosen
from tests.byhand import Hand, row, shown
from tinystore_django import Queue, models
from tinystore_django.lifecycle.locking import State
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
Staff = Callable[..., Client]


@pytest.fixture
def five(emails: Queue[Any], hand: Hand) -> list[models.Job]:
    """A job in each state, named after it."""
    for state in ("done", "failed", "running"):
        emails.add(state, id=state)
        held = hand.take_one(emails)
        if state != "running":
            hand.end(
                held, "failed" if state == "failed" else "done", "first line\nsecond" if state == "failed" else None
            )
    emails.add("waiting", id="waiting", group="tea")
    emails.add("scheduled", id="scheduled", delay="1h")
    return list(models.Job.objects.order_by("pk"))


def test_the_list_shows_each_job_in_its_state_the_latest_first(five: list[models.Job], listed: Pages) -> None:
    page = listed()

    assert page.column("named") == ["scheduled", "waiting", "running", "failed", "done"]
    assert page.column("state_now") == ["scheduled", "waiting", "running", "failed", "done"]
    assert page.column("queue") == ["emails"] * 5
    assert page.column("attempt") == ["0", "0", "1", "1", "1"]
    assert page.column("group") == ["-", "tea", "-", "-", "-"]
    assert page.column("due_at") == ["2026-03-01 13:00:00+00:00", *["2026-03-01 12:00:00+00:00"] * 4]


def test_the_list_shows_the_first_line_of_an_error(five: list[models.Job], listed: Pages) -> None:
    assert listed(state="failed").column("short_error") == ["first line"]


def test_a_scheduled_job_is_shown_as_waiting_once_it_is_due(emails: Queue[Any], clock: Clock, listed: Pages) -> None:
    emails.add("later", id="later", delay="1h")
    clock.advance("1h")

    assert listed().column("state_now") == ["waiting"]
    assert listed(state="waiting").column("named") == ["later"]


def test_a_cancelled_job_that_still_runs_is_shown_as_such(
    five: list[models.Job], emails: Queue[Any], listed: Pages
) -> None:
    emails.cancel("running")

    assert listed(state="running").column("state_now") == ["cancelled"]


def test_a_job_past_its_keep_is_not_shown(five: list[models.Job], clock: Clock, listed: Pages, opened: Pages) -> None:
    clock.advance("2d")

    assert listed().column("named") == ["scheduled", "waiting", "running"]
    assert opened(row(key="failed")).status == 302


def test_a_job_without_an_id_is_listed_and_opened(emails: Queue[Any], listed: Pages, opened: Pages) -> None:
    emails.add("anonymous")

    assert listed().column("named") == ["-"]
    assert opened(row()).field("value_shown") == '"anonymous"'


def test_a_jobs_page_shows_its_value_its_error_and_its_traceback(emails: Queue[Any], hand: Hand, opened: Pages) -> None:
    emails.add({"to": "ada", "copies": [1, 2]}, id="x", group="tea")
    hand.end(hand.take_one(emails), "failed", "no luck", traceback="Traceback\n  here")

    page = opened(row())

    assert page.field("value_shown") == '{\n  "to": "ada",\n  "copies": [\n    1,\n    2\n  ]\n}'
    assert page.field("error_shown") == "no luck"
    assert page.field("traceback_shown") == "Traceback\n  here"
    assert page.field("state_now") == "failed"
    assert page.field("last_run") == "2026-03-01 12:00:00+00:00 – 2026-03-01 12:00:00+00:00"
    assert page.field("kept_to") == "2026-03-03 12:00:00+00:00"


def test_a_jobs_page_shows_what_is_not_there_as_the_list_does(emails: Queue[Any], opened: Pages) -> None:
    emails.add("new")

    page = opened(row())

    names = ("named", "group", "repeat", "started", "last_run", "kept_to", "error_shown", "traceback_shown")
    assert [page.field(name) for name in names] == ["-"] * len(names)


def test_what_a_program_wrote_is_escaped(emails: Queue[Any], hand: Hand, listed: Pages, opened: Pages) -> None:
    evil = "<script>alert(1)</script>"
    emails.add(evil, id=evil, group=evil)
    hand.end(hand.take_one(emails), "failed", evil, traceback=evil)

    for page in (listed(), opened(row())):
        assert evil not in page.html
        assert "&lt;script&gt;alert(1)" in page.html
    assert opened(row()).field("error_shown") == evil


def test_a_jobs_page_has_nothing_to_edit_and_takes_nothing(
    five: list[models.Job], opened: Pages, admin_client: Client
) -> None:
    before = models.Job.objects.values().get(key="failed")

    assert "_save" not in opened(five[1]).html
    assert admin_client.post(f"{JOBS}{five[1].pk}/change/", {"queue": "other"}).status_code == 403
    assert models.Job.objects.values().get(key="failed") == before


@pytest.mark.parametrize("page", ["add/", "{}/delete/"])
def test_nobody_adds_or_deletes_a_job(page: str, five: list[models.Job], admin_client: Client) -> None:
    assert admin_client.get(JOBS + page.format(five[0].pk)).status_code == 403
    assert "delete_selected" not in Page(admin_client.get(JOBS)).html


def test_retry_now_starts_failed_jobs_again(five: list[models.Job], emails: Queue[Any], act: Pages) -> None:
    page = act("retry_now", *five)

    assert row(key="failed").state == State.READY
    assert shown(emails.get("failed"))[1:4] == ("waiting", row(key="failed").due, 0)  # type: ignore[index]
    assert page.messages == [
        "1 job starts again.",
        "4 jobs were left as they are (1 done, 1 running, 1 scheduled, 1 waiting): only failed jobs can be retried.",
    ]


def test_cancel_takes_jobs_away(five: list[models.Job], act: Pages) -> None:
    page = act("cancel", *five)

    assert list(models.Job.objects.order_by("pk").values_list("key", "cancelled")) == [
        ("done", False),
        ("running", True),
    ]
    assert page.messages == [
        "4 jobs were cancelled.",
        "1 job was left as it is (1 done): what is done or gone cannot be cancelled.",
    ]


def test_a_job_without_an_id_is_retried_and_cancelled(emails: Queue[Any], hand: Hand, act: Pages) -> None:
    emails.add("anonymous")
    hand.end(hand.take_one(emails), "failed", "no luck")

    act("retry_now", row())
    assert row().state == State.READY

    act("cancel", row())
    assert not models.Job.objects.exists()


def test_an_action_on_all_goes_for_what_the_filter_shows(five: list[models.Job], admin_client: Client) -> None:
    data = {"action": "cancel", "select_across": "1", "_selected_action": [str(five[1].pk)]}
    admin_client.post(f"{JOBS}?state=failed", data)

    assert set(models.Job.objects.values_list("key", flat=True)) == {"done", "running", "waiting", "scheduled"}


def test_who_may_view_jobs_does_nothing_to_them(five: list[models.Job], staff: Staff) -> None:
    client = staff("view")

    page = chosen(client, "cancel", *five)

    assert page.status == 200
    assert models.Job.objects.count() == 5
    assert not models.Job.objects.filter(cancelled=True).exists()
    assert 'value="retry_now"' not in page.html


def test_who_may_retry_jobs_retries_and_cancels(five: list[models.Job], staff: Staff) -> None:
    client = staff("retry")

    assert chosen(client, "retry_now", five[1]).messages == ["1 job starts again."]
    assert chosen(client, "cancel", five[1]).messages == ["1 job was cancelled."]


def test_who_may_neither_does_not_see_jobs(five: list[models.Job], staff: Staff) -> None:
    client = staff()

    assert client.get(JOBS).status_code == 403
    assert client.get(f"{JOBS}{five[0].pk}/change/").status_code == 403


def test_a_time_at_the_end_of_the_calendar_is_shown_in_utc(
    emails: Queue[Any], settings: Any, listed: Pages, opened: Pages
) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    emails.add("never", at=datetime.max.replace(tzinfo=UTC))
    emails.add("now")

    assert listed().column("due_at") == ["2026-03-01 21:00:00+09:00", "9999-12-31 23:59:59+00:00"]
    assert opened(row(value='"never"')).field("due_at") == "9999-12-31 23:59:59+00:00"
