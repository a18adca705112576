"""What an operator does to jobs: by the list's actions and by the buttons of a job's page."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import JOBS, Page, Pages, Staff, chosen, chosen_all, pressed
from tests.byhand import Hand, after, row, shown
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import operating
from tinystore_django.lifecycle.locking import State
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]
NOTHING = "No such job is left: nothing was done."
ACTIONS = {"retry_now": "retry", "run_now": "retry", "move_time": "move", "cancel": "cancel"}


def test_retry_now_starts_failed_jobs_again(five: Five, emails: Queue[Any], act: Pages) -> None:
    page = act("retry_now", *five.values())

    assert row(key="failed").state == State.READY
    assert shown(emails.get("failed"))[1:4] == ("waiting", row(key="failed").due, 0)  # type: ignore[index]
    assert page.messages == [
        "Retried 1 failed job.",
        "Left 4 jobs as they are (1 done, 1 running, 1 waiting, 1 scheduled): only failed jobs can be retried.",
    ]


def test_run_now_makes_scheduled_jobs_due(five: Five, emails: Queue[Any], act: Pages) -> None:
    page = act("run_now", *five.values())

    assert shown(emails.get("scheduled"))[1:4] == ("waiting", after(), 0)  # type: ignore[index]
    assert page.messages == [
        "Made 1 job due now.",
        "Left 4 jobs as they are (1 done, 1 failed, 1 running, 1 waiting): only scheduled jobs can be made due now.",
    ]


def test_cancel_takes_jobs_away(five: Five, act: Pages) -> None:
    page = act("cancel", *five.values(), sure="yes")

    assert list(models.Job.objects.order_by("pk").values_list("key", "cancelled")) == [
        ("done", False),
        ("running", True),
    ]
    assert page.messages == [
        "Cancelled 4 jobs.",
        "Left 1 job as it is (1 done): what is done or gone cannot be cancelled.",
    ]


def test_move_asks_for_a_time_and_moves_what_has_not_started(five: Five, act: Pages) -> None:
    asked = act("move_time", *five.values())

    assert asked.messages == []
    assert 'name="time"' in asked.html
    assert asked.html.count('name="_selected_action"') == 5
    assert row(key="waiting").at == after()

    page = act("move_time", *five.values(), time="1h30m")

    assert row(key="waiting").at == row(key="scheduled").at == after(minutes=90)
    assert page.messages == [
        "Moved the time of 2 jobs.",
        "Left 3 jobs as they are (1 done, 1 failed, 1 running): only jobs that have not started can be moved.",
    ]


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("2026-03-02 14:00", after(days=1, hours=1)),  # 13:00 in UTC
        ("2026-03-02T14:00:00Z", after(days=1, hours=2)),
        ("2026-03-02", after(hours=11)),
        ("0s", after()),
        ("1w", after(days=7)),
        (" 1h ", after(hours=1)),
    ],
)
def test_a_time_is_one_of_the_current_zone_or_a_span_from_now(
    time: str, at: Any, five: Five, act: Pages, settings: Any
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    act("move_time", five["waiting"], time=time)

    assert row(key="waiting").at == at


@pytest.mark.parametrize("time", [" ", "soon", "-1h", "2026-13-01", "2026-03-29 02:30", "9w9w", "450000w", "a\0b"])
def test_a_time_that_there_is_not_is_asked_for_again(time: str, five: Five, act: Pages, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    page = act("move_time", five["waiting"], time=time)

    assert page.status == 200
    assert "errorlist" in page.html
    assert row(key="waiting").at == after()


def test_a_job_without_an_id_is_retried_and_cancelled(emails: Queue[Any], hand: Hand, act: Pages) -> None:
    emails.add("anonymous")
    hand.end(hand.take_one(emails), "failed", "no luck")

    act("retry_now", row())
    assert row().state == State.READY

    act("cancel", row())
    assert not models.Job.objects.exists()


def test_an_action_on_all_goes_for_what_the_filters_show(five: Five, admin_client: Client) -> None:
    chosen_all(admin_client, "cancel", "?state=failed")
    assert "failed" not in keys()

    chosen_all(admin_client, "cancel", "?group=tea&q=wait")
    assert keys() == {"done", "running", "scheduled"}


def test_an_action_on_all_is_not_bounded_by_what_is_counted(
    emails: Queue[Any], admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinystore_django.admin.paging.MOST", 3)
    monkeypatch.setattr(operating, "BATCH", 2)
    for _ in range(7):
        emails.add(None)

    assert chosen_all(admin_client, "cancel", sure="yes").messages == ["Cancelled 7 jobs."]


def test_a_move_of_all_carries_on_what_all_is(five: Five, admin_client: Client) -> None:
    asked = chosen_all(admin_client, "move_time", "?state=waiting")
    assert '<input type="hidden" name="select_across" value="1">' in asked.html

    chosen_all(admin_client, "move_time", "?state=waiting", time="1d")
    assert row(key="waiting").at == after(days=1)
    assert row(key="scheduled").at == after(hours=1)


def test_all_that_match_can_be_meant_without_a_script(five: Five, listed: Pages, admin_client: Client) -> None:
    form = re.search(r'<form id="changelist-form".*?</form>', listed().html, re.DOTALL)
    assert form is not None
    # What a browser without scripts sends: the hidden field of Django's, then the box.
    fields = re.findall(r'name="select_across" value="(\d)"', form[0])
    assert fields == ["0", "1"]

    data = {"action": "move_time", "select_across": fields, "_selected_action": [str(five["done"].pk)]}
    asked = Page(admin_client.post(JOBS, data))
    kept = re.findall(r'name="select_across" value="(\d)"', asked.html)
    page = Page(admin_client.post(JOBS, {**data, "select_across": kept, "time": "1d"}, follow=True))

    assert page.messages[0] == "Moved the time of 2 jobs."


def keys() -> set[str | None]:
    return set(models.Job.objects.values_list("key", flat=True))


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        ("scheduled", ["run_now", "move_time", "cancel"]),
        ("waiting", ["move_time", "cancel"]),
        ("running", ["cancel"]),
        ("failed", ["retry_now", "cancel"]),
        ("done", []),
    ],
)
def test_a_jobs_page_has_the_buttons_that_fit_its_state(
    state: str, buttons: list[str], five: Five, opened: Pages
) -> None:
    assert opened(five[state]).buttons == buttons


def test_the_buttons_do_what_the_actions_do(five: Five, press: Pages) -> None:
    page = press("retry_now", five["failed"])
    assert (page.messages, page.field("state_now")) == (["Retried 1 failed job."], "waiting")

    page = press("run_now", five["scheduled"])
    assert (page.messages, page.field("state_now")) == (["Made 1 job due now."], "waiting")

    page = press("move_time", five["waiting"], time="1h")
    assert (page.messages, page.field("state_now")) == (["Moved the time of 1 job."], "scheduled")


def test_a_cancel_of_one_job_asks_first(five: Five, press: Pages) -> None:
    asked = press("cancel", five["waiting"])
    assert (asked.messages, 'name="sure"' in asked.html) == ([], True)
    assert "waiting" in keys()

    page = press("cancel", five["waiting"], sure="yes")
    assert page.messages == ["Cancelled 1 job."]
    assert page.column("named") == ["running", "failed", "scheduled", "done"]

    page = press("cancel", five["running"], sure="yes")
    assert (page.field("state_now"), page.buttons) == ("cancelled", [])


def test_a_move_of_one_job_without_a_time_asks_for_one(five: Five, press: Pages) -> None:
    assert "errorlist" not in press("move_time", five["waiting"], time="").html
    assert "errorlist" in press("move_time", five["waiting"], time="soon").html
    assert row(key="waiting").at == after()


def test_a_button_pressed_too_late_says_why_nothing_was_done(five: Five, press: Pages) -> None:
    press("retry_now", five["failed"])

    page = press("retry_now", five["failed"])

    assert page.messages == ["Left 1 job as it is (1 waiting): only failed jobs can be retried."]


def test_a_job_that_has_gone_meanwhile_leads_to_the_list(five: Five, press: Pages) -> None:
    five["failed"].delete()
    five["failed"].pk = 10**6

    page = press("retry_now", five["failed"])

    assert (page.column("named"), page.messages) == (["running", "waiting", "scheduled", "done"], [NOTHING])


@pytest.mark.parametrize("verb", ["", "nothing", "delete"])
def test_a_button_there_is_not_does_nothing(verb: str, five: Five, press: Pages) -> None:
    assert press(verb, five["failed"]).status == 403


def test_a_link_to_a_button_does_nothing(five: Five, admin_client: Client) -> None:
    assert admin_client.get(f"{JOBS}{five['failed'].pk}/operate/?verb=cancel&sure=yes").status_code == 403
    assert "failed" in keys()


def test_a_form_of_another_site_does_nothing(five: Five, admin_user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)

    assert pressed(client, "cancel", five["failed"], sure="yes").status == 403
    assert chosen(client, "cancel", five["failed"]).status == 403


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_asks_for_its_own_permission(action: str, five: Five, staff: Staff) -> None:
    before = list(models.Job.objects.order_by("pk").values())
    client = staff("view", *({*ACTIONS.values()} - {ACTIONS[action]}))

    offered = Page(client.get(JOBS)).html
    chosen(client, action, *five.values(), time="1h")
    for job in five.values():
        assert pressed(client, action, job, time="1h", sure="yes").status == 403
        assert action not in Page(client.get(f"{JOBS}{job.pk}/change/")).buttons

    assert f'value="{action}"' not in offered
    assert list(models.Job.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_who_has_that_permission_alone_may_do_it(action: str, five: Five, staff: Staff) -> None:
    client = staff(ACTIONS[action])

    assert f'value="{action}"' in Page(client.get(JOBS)).html
    assert (
        chosen(client, action, *five.values(), time="1h", sure="yes").messages[0].startswith(("Re", "Ma", "Mo", "Ca"))
    )


def test_who_may_only_view_has_no_button(five: Five, staff: Staff) -> None:
    client = staff("view")

    for url in (JOBS, *(f"{JOBS}{job.pk}/change/" for job in five.values())):
        page = Page(client.get(url)).html
        assert 'name="verb"' not in page
        assert 'name="action"' not in page
        assert 'type="checkbox"' not in page


def test_an_action_is_one_entry_in_the_log_that_says_which_jobs(
    five: Five, act: Pages, admin_user: User, admin_client: Client
) -> None:
    act("retry_now", *five.values())

    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id) == (admin_user, None)
    assert entry.content_type.model_class() is models.Job  # type: ignore[union-attr]
    assert entry.get_change_message() == (
        "Retried 1 failed job. Left 4 jobs as they are (1 done, 1 running, 1 waiting, 1 scheduled): only failed jobs "
        "can be retried. By queue: emails 1. Chosen: emails/failed."
    )
    assert "Retried 1 failed job (emails/failed)" in admin_client.get("/admin/").content.decode()


def test_an_action_on_all_says_in_the_log_what_it_was_narrowed_to(
    five: Five, shop: Store, admin_client: Client
) -> None:
    for number in range(3):
        shop.queue("parcels").add(None, id=f"s{number}", delay="1h")

    chosen_all(admin_client, "run_now", "?state=scheduled&q=s")

    entry = LogEntry.objects.get()
    assert entry.object_repr == "Made 4 jobs due now (state scheduled, ids that begin with “s”)"
    assert entry.change_message == (
        "Made 4 jobs due now. By queue: parcels 3, emails 1. Chosen: state scheduled, ids that begin with “s”."
    )
    assert entry.object_repr in html.unescape(admin_client.get("/admin/").content.decode())


def test_an_entry_of_the_log_is_no_longer_than_its_column(emails: Queue[Any], act: Pages) -> None:
    for number in range(30):
        emails.add(None, id=f"{number:03}" + "x" * 500, delay="1h")

    act("run_now", *models.Job.objects.all())

    entry = LogEntry.objects.get()
    assert len(entry.object_repr) == 200
    assert entry.change_message.endswith("…, ….")
    assert len(entry.change_message) < 1_000


def test_a_button_is_an_entry_in_the_history_of_its_job(five: Five, press: Pages, admin_client: Client) -> None:
    press("retry_now", five["failed"])

    assert LogEntry.objects.get().object_repr == "emails/failed"
    assert "Retried 1 failed job." in Page(admin_client.get(f"{JOBS}{five['failed'].pk}/history/")).html


def test_what_did_nothing_is_not_in_the_log(five: Five, act: Pages) -> None:
    act("retry_now", five["waiting"])

    assert not LogEntry.objects.exists()


def test_many_jobs_are_retried_in_a_hundred_queries_whatever_becomes_of_some_meanwhile(
    emails: Queue[Any], clock: Clock, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tenth of 20,000, in as many batches.
    monkeypatch.setattr(operating, "BATCH", operating.BATCH // 10)
    models.Job.objects.bulk_create(_failed(clock, number) for number in range(2_000))
    _change_before_the_last_batch(emails, monkeypatch)

    with CaptureQueriesContext(connection) as queries:
        page = chosen_all(admin_client, "retry_now", "?state=failed")

    assert page.messages == [
        "Retried 1,985 failed jobs.",
        "Left 15 jobs as they are (10 waiting, 5 gone): only failed jobs can be retried.",
    ]
    assert len(queries) <= 100
    assert models.Job.objects.filter(state=State.READY, attempt=0, error=None).count() == 1_995
    assert LogEntry.objects.count() == 1
    # A double click: nothing is left to do.
    assert chosen_all(admin_client, "retry_now", "?state=failed").messages == [NOTHING]
    assert LogEntry.objects.count() == 1


def _failed(clock: Clock, number: int) -> models.Job:
    until = after(days=1)
    times = {"at": clock.now, "due": clock.now, "ended_at": clock.now, "until": until, "kept_until": until}
    return models.Job(
        queue="emails", key=f"{number:05}", value="1", state=State.FAILED, attempt=3, run=3, error="no", **times
    )


def _change_before_the_last_batch(emails: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all are found, ten ids are set by the program, and five are cleared."""
    lock, calls = operating._lock, 0

    def locked(alias: str, jobs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            for number in range(10):
                emails.set(f"{number:05}", "2")
            models.Job.objects.filter(key__gte="01995").delete()
        return lock(alias, jobs)

    monkeypatch.setattr(operating, "_lock", locked)


def test_an_action_is_in_no_transaction_of_the_whole_request(
    five: Five, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for alias in connections:
        monkeypatch.setitem(connections[alias].settings_dict, "ATOMIC_REQUESTS", True)

    with CaptureQueriesContext(connection) as queries:
        admin_client.get(JOBS)

    assert [query["sql"] for query in queries if "SAVEPOINT" in query["sql"]] == []


def test_all_that_failed_leaves_out_what_is_past_its_keep(five: Five, clock: Clock, admin_client: Client) -> None:
    clock.advance("2d")

    assert chosen_all(admin_client, "retry_now", "?state=failed").messages == [NOTHING]
