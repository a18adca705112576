"""What the list of jobs can be narrowed to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import Pages
from tests.byhand import Hand
from tinystore_django import Queue, Store, models
from tinystore_django.admin.filters import beginning_with

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


def test_the_declared_queues_are_offered_and_the_one_that_was_asked_for(
    shop: Store, emails: Queue[Any], listed: Pages
) -> None:
    shop.schedule("cleanup", every="1h")

    page = listed(queue="long-forgotten")

    for name in ("emails", "cleanup", "long-forgotten"):
        assert f">{name}</a>" in page.html


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
