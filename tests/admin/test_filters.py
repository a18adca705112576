"""What the list of jobs can be narrowed to."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page, Pages
from tests.byhand import Hand
from tinystore_django import Queue, Store, models
from tinystore_django.admin.filters import beginning_with
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_each_state_has_its_jobs(emails: Queue[Any], hand: Hand, listed: Pages) -> None:
    for state in ("done", "failed", "running"):
        emails.add(None, id=state)
        held = hand.take_one(emails)
        if state != "running":
            hand.end(held, "done" if state == "done" else "failed", None)
    emails.add(None, id="waiting")
    emails.add(None, id="scheduled", delay="1h")

    for state in ("scheduled", "waiting", "running", "failed", "done"):
        assert listed(state=state).column("named") == [state]


def test_a_job_set_aside_for_its_group_is_waiting(emails: Queue[Any], listed: Pages) -> None:
    emails.add(None, id="x", group="full")
    models.Job.objects.update(state=models.Job.State.ASIDE)

    assert listed(state="waiting").column("named") == ["x"]
    assert listed(state="scheduled").column("named") == []


def test_a_queue_has_its_jobs(shop: Store, emails: Queue[Any], listed: Pages) -> None:
    emails.add(None, id="a letter")
    shop.queue("parcels").add(None, id="a parcel")

    assert listed(queue="parcels").column("named") == ["a parcel"]


def test_the_queues_that_are_declared_or_have_jobs_are_offered(
    shop: Store, emails: Queue[Any], clock: Clock, listed: Pages
) -> None:
    shop.schedule("cleanup", every="1h")
    for state in models.Job.State:
        models.Job.objects.create(
            queue=f"forgotten-{state}", key="x", state=state, value="1", at=clock.now, due=clock.now
        )

    page = listed()

    for name in ("emails", "cleanup", *(f"forgotten-{state}" for state in models.Job.State)):
        assert f">{name}</a>" in page.html
    assert listed(queue="forgotten-0").column("named") == ["x"]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("chat:4", ["chat:4", "chat:42"]),
        ("chat:42", ["chat:42"]),
        ("chat:%", ["chat:%"]),
        ("chat:_", ["chat:_"]),
        ("CHAT", ["CHAT:4"]),
        ("hat", []),
        ("é", [r"é\U0010ffff"]),
    ],
)
def test_a_search_is_for_the_beginning_of_an_id(
    prefix: str, found: list[str], emails: Queue[Any], listed: Pages
) -> None:
    emails.add(None)
    for id in ("chat:4", "chat:42", "chat:5", "chat:%", "chat:_", "CHAT:4", "é\U0010ffff", "ê"):
        emails.add(None, id=id)

    assert sorted(listed(q=prefix).column("named")) == found


@pytest.mark.parametrize("prefix", ["\ud7ff", "a\U0010ffff", "\U0010ffff"])
def test_a_prefix_may_end_where_characters_do(prefix: str, emails: Queue[Any]) -> None:
    for id in (prefix, f"{prefix}z", "Z"):
        emails.add(None, id=id)

    found = beginning_with(models.Job.objects.all(), prefix)

    assert set(found.values_list("key", flat=True)) == {prefix, f"{prefix}z"}


def test_a_group_has_its_jobs(emails: Queue[Any], hand: Hand, listed: Pages) -> None:
    for group in ("tea", "coffee"):
        emails.add(None, id=f"failed {group}", group=group)
    for held in hand.take(emails, 2):
        hand.end(held, "failed", "no luck")
    emails.add(None, id="waiting", group="tea")
    emails.add(None, id="without")

    assert listed(group="tea").column("named") == ["failed tea", "waiting"]
    assert listed(group="tea", state="failed").column("named") == ["failed tea"]
    assert listed(group="te").column("named") == []


def test_the_form_of_a_group_keeps_what_else_was_chosen(emails: Queue[Any], listed: Pages) -> None:
    page = listed(group="<tea>", state="failed", q="x").html

    assert '<input type="text" name="group" value="&lt;tea&gt;"' in page
    for name, value in (("state", "failed"), ("q", "x")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in page
    # Of the search: the form of a group has its text field.
    assert page.count('<input type="hidden" name="group"') == 1


def test_a_search_finds_jobs_whose_ids_are_free_again(emails: Queue[Any], hand: Hand, listed: Pages) -> None:
    emails.add(None, id="x:done")
    hand.end(hand.take_one(emails))
    emails.add(None, id="x:cancelled")
    hand.take_one(emails)
    emails.cancel("x:cancelled")

    assert listed(q="x:").column("named") == ["x:cancelled", "x:done"]


# What each parameter is given that means nothing, and what the page says of it.
UNREAD = {
    "state=fialed": "There is no state “fialed”.",
    "state=": "There is no state “”.",
    "state=failed&state=fialed": "There is no state “fialed”.",
    "state=fialed&state=failed": "There is no state “fialed”.",
    "queue=a%00b": r"There is no queue “a\x00b”.",
    "queue=": "There is no queue “”.",
    "queue=emials": "There is no queue “emials”.",
    "group=a%00b": r"There is no group “a\x00b”.",
    "q=a%00b": r"No id begins with “a\x00b”.",
    "database=nothing": "There is no database “nothing”.",
    "database=": "There is no database “”.",
    "sate=failed": "There is no filter “sate”.",
    "value__contains=a": "There is no filter “value__contains”.",
    "key=%00": "There is no filter “key”.",
    "state__in=1": "There is no filter “state__in”.",
    "state=fialed&queue=emials": "There is no state “fialed”. There is no queue “emials”.",
}


@pytest.mark.parametrize("query", UNREAD)
def test_a_filter_that_means_nothing_shows_nothing_and_says_so(
    query: str, five: dict[str, models.Job], admin_client: Client
) -> None:
    page = Page(admin_client.get(f"{JOBS}?{query}"))

    assert (page.status, page.column("named"), page.note) == (200, [], f"Nothing is shown. {UNREAD[query]}")


@pytest.mark.parametrize("query", UNREAD)
@pytest.mark.parametrize("across", ["0", "1"])
def test_a_filter_that_means_nothing_leaves_every_job_as_it_is(
    query: str, across: str, five: dict[str, models.Job], admin_client: Client
) -> None:
    before = list(models.Job.objects.order_by("pk").values())
    ticked = [str(job.pk) for job in five.values()]

    for action in ("retry_now", "run_now", "move_time", "cancel"):
        data = {"action": action, "select_across": across, "_selected_action": ticked, "time": "1h", "sure": "yes"}
        admin_client.post(f"{JOBS}?{query}", data)

    assert list(models.Job.objects.order_by("pk").values()) == before


def test_what_means_something_has_no_note(five: dict[str, models.Job], listed: Pages) -> None:
    assert listed(state="failed", queue="emails", q="f", database="default").note == ""
