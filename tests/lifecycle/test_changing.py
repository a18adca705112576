"""add, set, update and cancel: what each does to the job an id names, by its state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import transaction

from tests.byhand import ALONE_OR_IN_A_BLOCK, NOON, Hand, after, rolled_back, row, shown
from tinystore_django import Queue, models
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
STATES = ["none", "scheduled", "waiting", "retrying", "running", "failed", "done"]


def arrange(state: str, emails: Queue[Any], hand: Hand) -> None:
    """Brings the job "x" into a state, at noon."""
    if state == "none":
        return
    emails.add("old", id="x", group="g", delay="1h" if state == "scheduled" else None)
    if state not in ("scheduled", "waiting"):
        held = hand.take_one(emails)
        if state == "retrying":
            hand.end(held, "retry", "no luck", at=held.at + 3_600_000_000)
        elif state != "running":
            hand.end(held, state, "no luck" if state == "failed" else None)  # type: ignore[arg-type]


NOW = after(minutes=1)
OLD = {
    "none": None,
    "scheduled": ("old", "scheduled", after(hours=1), 0, "g", None, False),
    "waiting": ("old", "waiting", NOON, 0, "g", None, False),
    "retrying": ("old", "scheduled", after(hours=1), 1, "g", "no luck", True),
    "running": ("old", "running", NOON, 1, "g", None, False),
    "failed": ("old", "failed", NOON, 1, "g", "no luck", True),
    "done": ("old", "done", NOON, 1, "g", None, True),
}
AFRESH = ("new", "waiting", NOW, 0, None, None, False)
AGAIN = ("new", "waiting", NOW, 0, "g", None, False)
TABLE = {
    ("add", "none"): (True, AFRESH),
    **{("add", state): (False, OLD[state]) for state in STATES[1:]},
    ("set", "none"): (None, AFRESH),
    ("set", "scheduled"): (None, AGAIN),
    ("set", "waiting"): (None, AGAIN),
    ("set", "retrying"): (None, ("new", "waiting", NOW, 0, "g", None, True)),
    ("set", "running"): (None, ("new", "running", NOON, 1, "g", None, False)),
    ("set", "failed"): (None, AGAIN),
    ("set", "done"): (None, AFRESH),
    ("update", "scheduled"): (True, ("new", "scheduled", after(hours=1), 0, "g", None, False)),
    ("update", "waiting"): (True, ("new", "waiting", NOON, 0, "g", None, False)),
    ("update", "retrying"): (True, ("new", "scheduled", after(hours=1), 1, "g", "no luck", True)),
    **{("update", state): (False, OLD[state]) for state in ("none", "running", "failed", "done")},
    ("cancel", "none"): (False, None),
    **{("cancel", state): (True, None) for state in STATES[1:6]},
    ("cancel", "done"): (False, OLD["done"]),
}
CALLS: dict[str, Callable[[Queue[Any]], Any]] = {
    "add": lambda queue: queue.add("new", id="x"),
    "set": lambda queue: queue.set("x", "new"),
    "update": lambda queue: queue.update("x", "new"),
    "cancel": lambda queue: queue.cancel("x"),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
def test_each_call_does_to_a_job_what_the_table_says(
    call: str,
    state: str,
    emails: Queue[Any],
    hand: Hand,
    clock: Clock,
    block: Callable[[], AbstractContextManager[Any]],
) -> None:
    arrange(state, emails, hand)
    assert shown(emails.get("x")) == OLD[state]
    clock.set(NOW)

    with block():
        answer = CALLS[call](emails)

    assert (answer, shown(emails.get("x"))) == TABLE[call, state]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_rolled_back_leaves_the_job_as_it_was(call: str, state: str, emails: Queue[Any], hand: Hand) -> None:
    arrange(state, emails, hand)

    with rolled_back():
        CALLS[call](emails)

    assert shown(emails.get("x")) == OLD[state]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_rolled_back_to_a_savepoint_leaves_the_job_as_it_was(call: str, emails: Queue[Any], hand: Hand) -> None:
    arrange("waiting", emails, hand)

    with transaction.atomic():
        with rolled_back():
            CALLS[call](emails)
        emails.add("with it", id="y")

    assert shown(emails.get("x")) == OLD["waiting"]
    assert emails.get("y") is not None


def test_set_takes_the_time_and_group_it_is_given(emails: Queue[Any]) -> None:
    emails.add("old", id="x", group="g")

    emails.set("x", "new", delay="5s", group="h")

    assert shown(emails.get("x")) == ("new", "scheduled", emails.get("x").at, 0, "h", None, False)  # type: ignore[union-attr]


def test_set_again_and_again_puts_a_job_off(emails: Queue[Any], clock: Clock) -> None:
    done: list[str] = []
    for draft in ("a", "b", "c"):
        emails.set("draft", draft, delay="5s")
        clock.advance("4s")
        emails.run_due(done.append)

    clock.advance("1s")
    emails.run_due(done.append)

    assert done == ["c"]


def test_set_drops_the_steps_of_earlier_attempts_and_update_keeps_them(emails: Queue[Any], hand: Hand) -> None:
    arrange("retrying", emails, hand)
    models.Step.objects.create(job=row().pk, name="render", answer="1")

    emails.update("x", "new")
    kept = models.Step.objects.count()
    emails.set("x", "newer")

    assert (kept, models.Step.objects.count()) == (1, 0)


def test_update_and_set_make_the_jobs_time_the_runs(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    arrange("retrying", emails, hand)  # due at noon, its retry at one
    emails.update("x", "new")
    clock.set(after(hours=2))

    held = hand.take_one(emails)

    assert held.at == row().due.timestamp() * 1_000_000
    assert emails.get("x").at == after(hours=1)  # type: ignore[union-attr]


def test_a_jobs_place_among_ties_is_kept_by_update_set_and_retry_and_is_new_after_cancel_and_add(
    emails: Queue[Any], hand: Hand
) -> None:
    for key in "abcd":
        emails.add(key, id=key)
    emails.update("c", "c2", at=NOON)
    emails.set("b", "b2", at=NOON)
    emails.cancel("a")
    emails.add("a2", id="a", at=NOON)

    order = [held.key for held in hand.take(emails, 10)]

    assert order == ["b", "c", "d", "a"]


def test_a_retry_has_its_place_of_before_among_equal_times(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", id="a")
    held = hand.take_one(emails)
    emails.add("b", id="b", at=after(minutes=5))
    hand.end(held, "retry", "no luck", at=held.at + 300_000_000)
    clock.advance("5m")

    assert [held.key for held in hand.take(emails, 10)] == ["a", "b"]


def test_update_can_make_a_plain_job_repeat_from_the_next_tick(emails: Queue[Any]) -> None:
    emails.add("old", id="r", group="g")

    assert emails.update("r", "new", every="1h")

    job = emails.get("r")
    assert job is not None
    assert (job.repeat, job.state, job.group) == ("@every 1h +3378005ms", "scheduled", "g")
    assert job.at > NOON
    assert int(job.at.timestamp() * 1000) % 3_600_000 == 3_378_005


def test_update_with_a_repeat_and_a_time_takes_the_time(emails: Queue[Any]) -> None:
    emails.add("old", id="r")

    emails.update("r", "new", every="1h", at=after(minutes=2))

    assert emails.get("r").at == after(minutes=2)  # type: ignore[union-attr]


@pytest.mark.usefixtures("clock")
def test_set_keeps_a_repeat_and_its_last_run_unless_it_gives_another(emails: Queue[Any], hand: Hand) -> None:
    emails.add("old", id="r", every="1h", at=NOON)
    hand.end(hand.take_one(emails))
    emails.set("r", "new")
    kept = emails.get("r")
    emails.set("r", "newer", cron="0 13 * * *", time_zone="UTC")
    changed = emails.get("r")

    assert kept is not None
    assert changed is not None
    assert (kept.repeat, kept.at, kept.last_run is not None) == ("@every 1h +3378005ms", NOON, True)
    assert (changed.repeat, changed.at) == ("0 13 * * * UTC", after(hours=1))
