"""The operator's list of jobs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page, Pages, Staff
from tests.byhand import Hand
from tinystore_django import Queue, models
from tinystore_django.lifecycle import stepping
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]


def test_the_list_shows_what_runs_and_what_failed_before_what_is_to_come(five: Five, listed: Pages) -> None:
    page = listed()

    assert page.column("named") == ["running", "failed", "waiting", "scheduled", "done"]
    assert page.column("state_now") == ["running", "failed", "waiting", "scheduled", "done"]
    assert page.column("queue") == ["emails"] * 5
    assert page.column("attempt") == ["1", "1", "0", "0", "1"]
    assert page.column("grouped") == ["-", "-", "tea", "-", "-"]
    noon = "March 1, 2026, noon 0 s ago"
    assert page.column("due_at") == [noon, noon, noon, "March 1, 2026, 1 p.m. in 1 hour", noon]


def test_the_list_shows_the_first_line_of_an_error(five: Five, listed: Pages) -> None:
    assert listed(state="failed").column("short_error") == ["first line"]


def test_a_scheduled_job_is_shown_as_waiting_once_it_is_due(emails: Queue[Any], clock: Clock, listed: Pages) -> None:
    emails.add("later", id="later", delay="1h")
    clock.advance("61m")

    assert listed().column("state_now") == ["waiting"]
    assert listed().column("due_at") == ["March 1, 2026, 1 p.m. 1 minute ago"]


def test_a_cancelled_job_that_still_runs_is_shown_as_such(five: Five, emails: Queue[Any], listed: Pages) -> None:
    emails.cancel("running")

    assert listed(state="running").column("state_now") == ["cancelled"]


def test_a_job_past_its_keep_is_not_shown(five: Five, clock: Clock, listed: Pages, opened: Pages) -> None:
    clock.advance("2d")

    assert listed().column("named") == ["running", "waiting", "scheduled"]
    assert opened(five["failed"]).note == "It failed, and is kept no longer."


def test_a_job_without_an_id_is_listed_and_opened(emails: Queue[Any], listed: Pages, opened: Pages) -> None:
    emails.add("anonymous")

    job = models.Job.objects.get()
    page = listed()
    assert page.column("named") == [str(job.pk)]
    assert (
        f'href="/admin/tinystore_django/job/{job.pk}/change/"><span class="tinystore-key">{job.pk}</span></a>'
        in page.html
    )
    assert opened(job).field("value_shown") == '"anonymous"'


def test_a_cell_of_the_list_says_what_it_is_and_whether_it_is_empty(emails: Queue[Any], listed: Pages) -> None:
    emails.add(None, id="a", group="g")

    page = listed().html

    assert '<div class="tinystore-cell" data-label="Group"><bdi>g</bdi></div>' in page
    assert '<div class="tinystore-cell tinystore-empty" data-label="Error">-</div>' in page
    assert 'data-label="Due"><time' in page


def test_the_error_comes_before_the_value(emails: Queue[Any], hand: Hand, opened: Pages) -> None:
    emails.add("ada")
    hand.end(hand.take_one(emails), "failed", "no luck")

    page = opened(models.Job.objects.get()).html

    places = [page.index(f'class="field-{name}"') for name in ("error_shown", "traceback_shown", "value_shown")]
    assert places == sorted(places)


def test_long_texts_are_cut_in_the_list(emails: Queue[Any], hand: Hand, listed: Pages) -> None:
    emails.add("x" * 10_000, id="i" * 1000, group="g" * 1000)
    hand.end(hand.take_one(emails), "failed", "e" * 4000)

    page = listed()

    assert page.column("named") == ["i" * 60 + "…"]
    assert page.column("grouped") == ["g" * 60 + "…"]
    assert page.column("short_error") == ["e" * 120 + "…"]
    assert "xxx" not in page.html


@pytest.mark.parametrize(
    ("progress", "said", "value"),
    [
        ('{"done": 3, "total": 12, "file": "a"}', "25%", "25"),
        ("[3,12]", "25%", "25"),
        ('{"percent": 40}', "40%", "40"),
        ("0.5", "50%", "50"),
        ("1.0", "100%", "100"),
        ("1", "1%", "1"),
        ("40", "40%", "40"),
        ("37.5", "38%", "38"),
        ('{"done": 13, "total": 12}', "100%", "100"),
    ],
)
def test_progress_that_says_how_much_is_done_is_a_bar(
    progress: str, said: str, value: str, emails: Queue[Any], hand: Hand, listed: Pages
) -> None:
    report(progress, emails, hand)

    page = listed()

    assert page.column("progress_bar") == [f"{said} {said}"]
    assert f'max="100" value="{value}"' in page.html


@pytest.mark.parametrize("progress", ['"reading"', "true", '{"done": true, "total": 2}', "[1,0]", "101", "null", "-1"])
def test_other_progress_is_its_text(progress: str, emails: Queue[Any], hand: Hand, listed: Pages) -> None:
    report(progress, emails, hand)

    page = listed()

    assert page.column("progress_bar") == [progress]
    assert "<progress" not in page.html


def report(progress: str, emails: Queue[Any], hand: Hand) -> None:
    emails.add("x", id="x")
    stepping.report("default", hand.take_one(emails).fence, progress)


def test_a_job_that_is_no_longer_running_has_no_progress(emails: Queue[Any], hand: Hand, listed: Pages) -> None:
    emails.add("x", id="x")
    held = hand.take_one(emails)
    stepping.report("default", held.fence, "50")
    hand.end(held, "failed", "no luck")

    assert listed().column("progress_bar") == ["-"]


def test_a_time_at_the_end_of_the_calendar_is_shown_in_utc(
    emails: Queue[Any], settings: Any, listed: Pages, opened: Pages
) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    emails.add("never", id="never", at=datetime.max.replace(tzinfo=UTC))
    emails.add("now")

    now, never = listed().column("due_at")
    assert now.startswith("March 1, 2026, 9 p.m. ")
    assert never.startswith("Dec. 31, 9999, 11:59:59 p.m. in 7")
    assert opened(models.Job.objects.get(key="never")).field("due_at").startswith("Dec. 31, 9999, 11:59:59 p.m. ")


@pytest.mark.parametrize(
    "query", ["p=x", "p=0", "p=-1", "p=99999999999999999999999", "group=", "q=", "o=1.2", "all=", "_facets=True", "e=1"]
)
def test_what_narrows_nothing_gives_the_first_page(query: str, five: Five, admin_client: Client) -> None:
    page = Page(admin_client.get(f"{JOBS}?{query}"))

    assert page.status == 200
    assert len(page.column("named")) == 5


@pytest.mark.parametrize("page", ["add/", "{}/delete/"])
def test_nobody_adds_or_deletes_a_job(page: str, five: Five, admin_client: Client) -> None:
    assert admin_client.get(JOBS + page.format(five["failed"].pk)).status_code == 403
    assert "delete_selected" not in Page(admin_client.get(JOBS)).html


def test_who_has_no_permission_does_not_see_jobs(five: Five, staff: Staff) -> None:
    client = staff()

    assert client.get(JOBS).status_code == 403
    assert client.get(f"{JOBS}{five['failed'].pk}/change/").status_code == 403


@pytest.mark.parametrize("permission", ["retry", "cancel", "move"])
def test_who_may_do_something_sees_jobs(permission: str, five: Five, staff: Staff) -> None:
    client = staff(permission)

    assert client.get(JOBS).status_code == 200
    assert client.get(f"{JOBS}{five['failed'].pk}/change/").status_code == 200


def test_the_list_and_a_jobs_page_have_no_script_or_style_of_their_own(five: Five, admin_client: Client) -> None:
    for url in (JOBS, f"{JOBS}{five['failed'].pk}/change/"):
        page = Page(admin_client.get(url)).html
        # A strict policy allows files of the site's own alone; what Django's own base page has is Django's.
        assert "<style" not in page
        assert " style=" not in page.replace('<div style="display:none">', "")
        assert " onclick=" not in page


@pytest.mark.parametrize("progress", [{"percent": 10**400}, {"percent": -(10**400)}, {"done": 10**400, "total": 3}])
def test_progress_that_no_fraction_can_hold_is_a_bar_all_the_same(
    progress: Any, emails: Queue[Any], hand: Hand, listed: Pages
) -> None:
    emails.add("x", id="x")
    stepping.report("default", hand.take_one(emails).fence, json.dumps(progress))

    assert listed().column("progress_bar")[0].startswith(("0%", "100%"))


@pytest.mark.parametrize("ticked", ["abc", "", "1e9", "nan", "\0", "-1", "9" * 20])
def test_what_can_be_no_primary_key_is_not_acted_on(ticked: str, five: list[models.Job], admin_client: Client) -> None:
    response = admin_client.post(JOBS, {"action": "cancel", "_selected_action": [ticked]})

    assert response.status_code in (200, 302)
    assert models.Job.objects.count() == 5


def test_a_head_of_a_jobs_page_is_answered_as_its_get(five: Five, admin_client: Client) -> None:
    page = f"{JOBS}{five['failed'].pk}/change/"

    assert admin_client.head(page).status_code == 200
    assert [admin_client.generic(verb, page).status_code for verb in ("POST", "PUT", "DELETE")] == [403] * 3
