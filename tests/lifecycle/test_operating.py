"""retry and cancel by an operator: a row is enough, with an id or without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.byhand import NOON, Hand, after, row, shown
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import notices, operating
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
KEYS = pytest.mark.parametrize("key", ["x", None])


@pytest.fixture
def letters(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue whose done jobs stay for a day."""
    return shop.queue("letters", attempts=3, dedupe="1h", keep="2d", keep_done="1d")


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """The queues whose workers were woken."""
    queues: list[str] = []
    end = notices.subscribe("default", queues.append)
    yield queues
    end()


def arrange(state: str, letters: Queue[Any], hand: Hand, key: str | None = "x") -> int:
    """Brings a job into a state, at noon; its primary key."""
    letters.add("old", id=key, group="g", delay="1h" if state == "scheduled" else None)
    job = row(queue="letters").pk
    if state not in ("scheduled", "waiting"):
        held = hand.take_one(letters)
        models.Step.objects.create(job=job, name="render", answer="1")
        if state == "failed":
            hand.end(held, "failed", "no luck", traceback="Traceback")
        elif state == "done":
            hand.end(held, "done", None)
    return int(job)


@KEYS
def test_a_failed_job_starts_again_from_its_first_attempt(
    key: str | None, letters: Queue[Any], hand: Hand, clock: Clock
) -> None:
    job = arrange("failed", letters, hand, key)
    models.Step.objects.create(job=job, name="left over", answer="1")
    clock.advance("1h")

    assert operating.retry("default", job) is None

    held = hand.take_one(letters)
    assert (held.id, held.key, held.value, held.group, held.attempt) == (job, key, '"old"', "g", 1)
    assert row(pk=job).due == after(hours=1)
    assert not models.Step.objects.exists()


def test_a_retried_job_is_as_one_that_never_ran(letters: Queue[Any], hand: Hand) -> None:
    job = arrange("failed", letters, hand)

    operating.retry("default", job)

    assert shown(letters.get("x")) == ("old", "waiting", NOON, 0, "g", None, False)
    kept = row(pk=job)
    assert (kept.traceback, kept.ended_at, kept.until, kept.kept_until) == (None, None, None, None)


def test_a_retry_wakes_the_workers_of_its_queue(
    letters: Queue[Any],
    hand: Hand,
    heard: list[str],
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]],
) -> None:
    job = arrange("failed", letters, hand)

    with django_capture_on_commit_callbacks(execute=True):
        operating.retry("default", job)

    assert heard == ["letters"]


@pytest.mark.parametrize("state", ["scheduled", "waiting", "running", "done"])
def test_a_job_that_has_not_failed_is_not_retried(state: str, letters: Queue[Any], hand: Hand) -> None:
    job = arrange(state, letters, hand)
    before = models.Job.objects.values().get()

    assert operating.retry("default", job) == state
    assert models.Job.objects.values().get() == before


@KEYS
@pytest.mark.parametrize("state", ["scheduled", "waiting", "failed"])
def test_a_job_that_does_not_run_is_cancelled_at_once(
    state: str, key: str | None, letters: Queue[Any], hand: Hand
) -> None:
    job = arrange(state, letters, hand, key)

    assert operating.cancel("default", job) is None
    assert not models.Job.objects.exists()
    assert not models.Step.objects.exists()


@KEYS
def test_a_running_job_is_told_to_stop(key: str | None, letters: Queue[Any], hand: Hand) -> None:
    letters.add("old", id=key)
    held = hand.take_one(letters)

    assert operating.cancel("default", held.id) is None
    assert letters.get("x") is None
    assert row(pk=held.id).cancelled
    assert hand.end(held) == "cancelled"
    assert not models.Job.objects.exists()


def test_a_done_job_keeps_its_id_from_a_cancel(letters: Queue[Any], hand: Hand) -> None:
    job = arrange("done", letters, hand)

    assert operating.cancel("default", job) == "done"
    assert letters.add("new", id="x") is False


@pytest.mark.parametrize("verb", [operating.retry, operating.cancel])
def test_a_job_past_its_keep_is_gone(
    verb: Callable[[str, int], str | None], letters: Queue[Any], hand: Hand, clock: Clock
) -> None:
    job = arrange("failed", letters, hand)
    clock.advance("2d")

    assert verb("default", job) == "gone"
    assert row(pk=job).state == models.Job.State.FAILED


@pytest.mark.parametrize("verb", [operating.retry, operating.cancel])
def test_a_job_is_gone_once_it_is_cancelled_or_deleted(
    verb: Callable[[str, int], str | None], letters: Queue[Any], hand: Hand
) -> None:
    job = arrange("running", letters, hand)
    letters.cancel("x")

    assert verb("default", job) == "gone"
    assert verb("default", job + 1000) == "gone"
