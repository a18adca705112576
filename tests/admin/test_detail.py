"""A job's own page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page, Pages
from tests.byhand import Hand, row
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import stepping
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]


def test_it_shows_the_value_the_error_and_the_traceback(emails: Queue[Any], hand: Hand, opened: Pages) -> None:
    emails.add({"to": "ada", "copies": [1, 2]}, id="x", group="tea")
    hand.end(hand.take_one(emails), "failed", "no luck", traceback="Traceback\n  here")

    page = opened(row())

    assert page.field("value_shown") == '{\n  "to": "ada",\n  "copies": [\n    1,\n    2\n  ]\n}'
    assert page.field("error_shown") == "no luck"
    assert page.field("traceback_shown") == "Traceback\n  here"
    assert page.field("state_now") == "failed"
    assert page.field("attempt") == "1 of 3"
    assert page.field("group") == "tea"
    assert page.field("last_run") == "March 1, 2026, noon – March 1, 2026, noon"
    assert page.field("kept_to") == "March 3, 2026, noon in 2 days"


def test_it_shows_what_is_not_there_as_the_list_does(emails: Queue[Any], opened: Pages) -> None:
    emails.add("new")

    page = opened(row())

    names = ("named", "group", "repeat", "progress_shown", "started", "worker", "last_run", "kept_to", "error_shown")
    assert [page.field(name) for name in names] == ["-"] * len(names)


def test_it_shows_the_run_its_worker_its_progress_and_its_finished_steps(
    emails: Queue[Any], hand: Hand, clock: Clock, opened: Pages
) -> None:
    emails.add("x", id="x")
    held = hand.take_one(emails)
    stepping.keep("default", held.fence, "render", '{"pages":2}')
    stepping.keep("default", held.fence, "attach", "null")
    stepping.report("default", held.fence, '{"done":1,"total":4}')
    clock.advance("5s")

    page = opened(row())

    assert page.field("started") == "March 1, 2026, noon 5 s ago"
    assert page.field("worker") == "by hand its lease ends in 25 s unless it renews it"
    assert page.field("progress_shown") == '25% 25% {\n  "done": 1,\n  "total": 4\n}'
    assert page.html.index("render") < page.html.index("&quot;pages&quot;: 2") < page.html.index("attach")


def test_a_lost_worker_is_said_to_be(emails: Queue[Any], hand: Hand, clock: Clock, opened: Pages) -> None:
    emails.add("x", id="x")
    hand.take_one(emails)

    clock.advance("31s")
    assert opened(row()).field("worker") == "by hand its lease ended 1 s ago"

    models.Lease.objects.all().delete()
    assert opened(row()).field("worker") == "lost: another worker takes the job back soon"


def test_a_repeat_is_in_words_with_its_next_five_times(
    emails: Queue[Any], clock: Clock, admin_client: Client, settings: Any
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    emails.add("x", id="x", cron="10 3 * * *", time_zone="Europe/Berlin", delay="1h")

    page = Page(admin_client.get(f"{JOBS}{row().pk}/change/")).field("repeat")

    assert page.startswith("every day at 03:10 (Europe/Berlin)")
    times = ["March 1, 2026, 2 p.m.", *(f"March {day}, 2026, 3:10 a.m." for day in (2, 3, 4, 5))]
    assert page.endswith("".join(times))


def test_a_running_repeating_job_shows_the_ticks_behind_this_run(emails: Queue[Any], hand: Hand, opened: Pages) -> None:
    emails.add("x", id="x", cron="0 * * * *", time_zone="UTC", delay="0s")
    hand.take_one(emails)

    assert "noon" not in opened(row()).field("repeat")
    assert "March 1, 2026, 1 p.m.March 1, 2026, 2 p.m." in opened(row()).field("repeat")


def test_a_job_whose_queue_is_gone_has_its_page(db: None, clock: Clock, listed: Pages, opened: Pages) -> None:
    models.Job.objects.create(queue="long-forgotten", key="x", value="1", at=clock.now, due=clock.now)

    assert listed().column("queue") == ["long-forgotten"]
    assert opened(row()).field("queue") == "long-forgotten no code of this process declares it"
    assert opened(row()).field("attempt") == "0"


def test_a_job_whose_queue_has_no_handler_says_so(shop: Store, clock: Clock, opened: Pages) -> None:
    letters = shop.queue("letters")
    letters.add("x")
    assert opened(row()).field("queue") == "letters it has no handler in this process"

    letters.handler(lambda value: None)
    assert opened(row()).field("queue") == "letters"


@pytest.mark.parametrize(("value", "wrong"), [("{oops", "JSON is malformed"), ('{"number": "many"}', "Expected int")])
def test_a_value_that_no_longer_reads_is_shown_with_what_is_wrong(
    value: str, wrong: str, shop: Store, clock: Clock, opened: Pages
) -> None:
    numbers = shop.queue("numbers", dict[str, int])
    numbers.add({"number": 1})
    models.Job.objects.update(value=value)

    shown = opened(row()).field("value_shown")

    assert shown.startswith("It no longer reads as its queue's type. value")
    assert wrong in shown
    assert "".join(shown.split()).endswith("".join(value.split()))


def test_a_repeat_that_no_longer_reads_is_shown_as_it_is(emails: Queue[Any], opened: Pages) -> None:
    emails.add("x", id="x", every="1h")
    models.Job.objects.update(repeat="10 3 * * * Mars/Olympus")

    assert opened(row()).field("repeat") == "10 3 * * * Mars/Olympus it no longer reads"


def test_a_large_value_is_cut_at_64_kb(emails: Queue[Any], opened: Pages) -> None:
    emails.add("é" * 100_000)

    shown = opened(row()).field("value_shown")

    assert shown.endswith("é…The first 64 kB are shown.")
    assert len(shown.encode()) < 64 * 1024 + 100


def test_it_takes_no_changes(five: Five, admin_client: Client) -> None:
    before = models.Job.objects.values().get(key="failed")

    assert admin_client.post(f"{JOBS}{before['id']}/change/", {"queue": "other"}).status_code == 403
    assert models.Job.objects.values().get(key="failed") == before


@pytest.mark.parametrize("page", ["x/change/", "99999999999999999999999/change/", "x/history/"])
def test_what_can_be_no_job_leads_back(page: str, db: None, admin_client: Client) -> None:
    assert admin_client.get(JOBS + page).status_code == 302


def test_a_page_of_a_job_makes_few_queries(
    five: Five, admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(8):
        admin_client.get(f"{JOBS}{five['running'].pk}/change/")
