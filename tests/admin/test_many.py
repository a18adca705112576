"""A cancel of more than one job asks first, saying which they are, and leaves schedules out."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from tests.admin.conftest import JOBS, Page, Pages, chosen_all, text
from tests.byhand import Hand, after
from tinystore_django import Queue, Schedule, Store, models
from tinystore_django.admin import paging
from tinystore_django.lifecycle import operating

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]


@pytest.fixture
def cleanup(shop: Store) -> Schedule:
    """A schedule that comes within the hour."""
    cleanup = shop.schedule("cleanup", every="1h")
    cleanup.run_due(lambda: None)
    return cleanup


def keys() -> set[str | None]:
    return set(models.Job.objects.values_list("key", flat=True))


def summary(page: Page) -> list[list[str]]:
    """The lines of the page that asks: queue, state and count."""
    found = re.search(r'<table class="tinystore-summary">.*?<tbody>(.*?)</tbody>', page.html, re.DOTALL)
    assert found is not None, page.html
    return [[" ".join(text(cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows(found[1])]


def rows(table: str) -> list[str]:
    return re.findall(r"<tr>.*?</tr>", table, re.DOTALL)


def asked(page: Page) -> str:
    """Which jobs the page says that it is about."""
    (found,) = re.findall(r'<p class="tinystore-chosen">(.*?)</p>', page.html, re.DOTALL)
    return text(found)


def answer(client: Client, page: Page, query: str = "") -> Page:
    """Presses the button of the page that asks."""
    form = page.html[page.html.index('<form method="post">') :]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form):
        fields.setdefault(name, []).append(html.unescape(value))
    return Page(client.post(f"{JOBS}{query}", fields, follow=True))


def test_a_cancel_of_ticked_jobs_says_which_and_asks(five: Five, admin_client: Client, act: Pages) -> None:
    page = act("cancel", *five.values())

    assert len(keys()) == 5
    assert page.messages == []
    assert asked(page) == ("4 jobs that are ticked: emails/failed, emails/running, emails/waiting, emails/scheduled.")
    assert summary(page) == [
        ["emails", "failed", "1"],
        ["emails", "running", "1"],
        ["emails", "scheduled", "1"],
        ["emails", "waiting", "1"],
        ["emails", "done", "1 left as they are"],
    ]
    assert 'value="Cancel 4 jobs"' in page.html

    assert answer(admin_client, page).messages[0] == "Cancelled 4 jobs."
    assert keys() == {"done", "running"}


def test_a_cancel_of_all_says_what_the_list_is_narrowed_to(
    five: Five, emails: Queue[Any], shop: Store, admin_client: Client
) -> None:
    for number in range(3):
        shop.queue("parcels").add(None, id=f"wood {number}")
    query = "?state=waiting&q=w"

    page = chosen_all(admin_client, "cancel", query)

    assert len(keys()) == 8
    assert asked(page) == (
        "4 jobs, all that match: state waiting, ids that begin with “w”. "
        "Jobs that are added from now on are left alone."
    )
    assert summary(page) == [["parcels", "waiting", "3"], ["emails", "waiting", "1"]]

    emails.add(None, id="w-later")
    assert answer(admin_client, page, query).messages == ["Cancelled 4 jobs."]
    assert keys() == {"done", "failed", "running", "scheduled", "w-later"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "no filter"),
        ("?queue=emails", "queue emails"),
        ("?queue=emails&group=%3Ctea%3E", "queue emails, group <tea>"),
    ],
)
def test_each_filter_is_said_in_words(query: str, words: str, emails: Queue[Any], admin_client: Client) -> None:
    for number in range(2):
        emails.add(None, id=str(number), group="<tea>")

    page = chosen_all(admin_client, "cancel", query)

    assert asked(page).startswith(f"2 jobs, all that match: {words}. ")


def test_one_job_is_cancelled_at_once(five: Five, admin_client: Client, act: Pages) -> None:
    assert act("cancel", five["waiting"]).messages == ["Cancelled 1 job."]
    assert chosen_all(admin_client, "cancel", "?state=scheduled").messages == ["Cancelled 1 job."]


@pytest.mark.parametrize("newest", ["", "x", "-1", "9" * 30])
def test_an_answer_that_does_not_say_what_was_shown_is_none(newest: str, five: Five, admin_client: Client) -> None:
    page = chosen_all(admin_client, "cancel", sure="yes", newest=newest)

    assert "all that match" in asked(page)
    assert len(keys()) == 5


def test_more_jobs_than_are_counted_are_told_as_so_many_and_more(
    emails: Queue[Any], admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("paging", "many"):
        monkeypatch.setattr(f"tinystore_django.admin.{module}.MOST", 3)
    emails.add_many(range(7))

    page = chosen_all(admin_client, "cancel")

    assert asked(page).startswith("3+ jobs, all that match: no filter.")
    assert summary(page) == [["emails", "waiting", "3+"]]
    assert answer(admin_client, page).messages == ["Cancelled 7 jobs."]


def test_more_queues_than_are_counted_are_told_as_so_many_and_more(
    shop: Store, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST_IN_ALL", 4)
    for number in range(6):
        shop.queue(f"queue-{number}").add(None)

    assert asked(chosen_all(admin_client, "cancel")).startswith("4+ jobs, all that match: no filter.")


@pytest.mark.parametrize("action", ["cancel", "move_time", "run_now"])
def test_schedules_are_left_out_of_what_is_done_to_many(
    action: str, five: Five, cleanup: Schedule, emails: Queue[Any], admin_client: Client, act: Pages
) -> None:
    emails.add(None, id="emails", every="1h")  # a queue's own job is no schedule
    tick = models.Job.objects.get(queue="cleanup").at
    said = "Left out 1 schedule: a schedule is operated by itself."
    ticked = models.Job.objects.filter(key__in=["cleanup", "scheduled", "emails"])

    assert said in act(action, *ticked, sure="yes", time="2h").messages
    assert said in chosen_all(admin_client, action, sure="yes", time="3h").messages

    assert models.Job.objects.get(queue="cleanup").at == tick
    assert models.Job.objects.filter(key__in=["scheduled", "emails"], at=after(hours=1)).count() == 0


def test_the_page_that_asks_does_not_count_schedules(five: Five, cleanup: Schedule, admin_client: Client) -> None:
    page = chosen_all(admin_client, "cancel", "?state=scheduled")
    assert page.messages[0] == "Cancelled 1 job."

    page = chosen_all(admin_client, "cancel")
    assert ["cleanup", "scheduled", "1"] not in summary(page)
    assert asked(page).startswith("3 jobs, ")
    assert "Left out 1 schedule: a schedule is operated by itself." in page.html


def test_a_schedule_whose_code_is_gone_is_left_out_too(
    emails: Queue[Any], cleanup: Schedule, hand: Hand, admin_client: Client
) -> None:
    models.Job.objects.filter(queue="cleanup").update(queue="forgotten", key="forgotten")
    emails.add(None)

    chosen_all(admin_client, "cancel", "?queue=forgotten", sure="yes")

    assert keys() == {"forgotten", None}
    assert not LogEntry.objects.exists()


def test_a_schedule_that_is_ticked_alone_is_operated(cleanup: Schedule, act: Pages) -> None:
    assert act("run_now", models.Job.objects.get()).messages == ["Made 1 job due now."]
    assert act("cancel", models.Job.objects.get()).messages == ["Cancelled 1 job."]


def test_a_move_of_many_says_which_they_are(five: Five, act: Pages) -> None:
    page = act("move_time", *five.values())

    assert asked(page) == "2 jobs that are ticked: emails/waiting, emails/scheduled."
    assert summary(page)[:2] == [["emails", "scheduled", "1"], ["emails", "waiting", "1"]]
    assert "tinystore-summary" not in act("move_time", five["waiting"]).html


def test_the_page_that_asks_makes_few_queries_however_many_queues_there_are(
    shop: Store, admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        shop.queue(f"queue-{number}").add(None)
    admin_client.get(JOBS)

    with django_assert_max_num_queries(30):
        page = chosen_all(admin_client, "cancel")

    assert asked(page).startswith("40 jobs, ")


def test_what_was_done_is_in_the_log_though_the_request_was_ended(
    emails: Queue[Any], admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    emails.add_many(range(5))
    monkeypatch.setattr(operating, "BATCH", 2)
    lock, batches = operating._lock, iter([False, True])

    def locked(alias: str, jobs: Any) -> Any:
        if next(batches):
            raise SystemExit  # as a web server that gives up
        return lock(alias, jobs)

    monkeypatch.setattr(operating, "_lock", locked)
    with pytest.raises(SystemExit):
        chosen_all(admin_client, "cancel", sure="yes")

    assert models.Job.objects.count() == 3
    assert LogEntry.objects.get().object_repr == "Cancelled 2 jobs (no filter)"


def test_a_cancel_of_a_schedule_says_what_brings_it_back(cleanup: Schedule, five: Five, press: Pages) -> None:
    said = "It is a schedule: it comes no more until a worker starts with it"

    assert said in press("cancel", models.Job.objects.get(queue="cleanup")).html
    assert said not in press("cancel", five["waiting"]).html
