"""retry, run now, move and cancel by an operator: a row is enough, with an id or without."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import connection, transaction

from tests.byhand import NOON, Hand, after, row, shown, us
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import notices, operating
from tinystore_django.lifecycle.operating import Outcome
from tinystore_django.testing import Clock

Verb = Callable[[str, Sequence[int]], Outcome]

pytestmark = pytest.mark.django_db


def move(alias: str, jobs: Sequence[int]) -> Outcome:
    return operating.move(alias, jobs, us(after(days=1)))


VERBS: dict[str, Verb] = {
    "retry": operating.retry,
    "run_now": operating.run_now,
    "move": move,
    "cancel": operating.cancel,
}
EACH = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
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
    job = row(queue="letters", key=key).pk
    if state not in ("scheduled", "waiting"):
        held = hand.take_one(letters)
        models.Step.objects.create(job=job, name="render", answer="1")
        if state == "failed":
            hand.end(held, "failed", "no luck", traceback="Traceback")
        elif state == "retried":
            hand.end(held, "retry", "no luck", delay=3_600_000_000)
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

    assert operating.retry("default", [job]) == Outcome(1)

    held = hand.take_one(letters)
    assert (held.id, held.key, held.value, held.group, held.attempt) == (job, key, '"old"', "g", 1)
    assert row(pk=job).due == after(hours=1)
    assert not models.Step.objects.exists()


def test_a_retried_job_is_as_one_that_never_ran(letters: Queue[Any], hand: Hand) -> None:
    job = arrange("failed", letters, hand)

    operating.retry("default", [job])

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
        operating.retry("default", [job])

    assert heard == ["letters"]


@pytest.mark.parametrize("state", ["scheduled", "waiting", "running", "done"])
def test_a_job_that_has_not_failed_is_not_retried(state: str, letters: Queue[Any], hand: Hand) -> None:
    job = arrange(state, letters, hand)
    before = models.Job.objects.values().get()

    assert operating.retry("default", [job]) == left(state)
    assert models.Job.objects.values().get() == before


@KEYS
@pytest.mark.parametrize("state", ["scheduled", "waiting", "failed"])
def test_a_job_that_does_not_run_is_cancelled_at_once(
    state: str, key: str | None, letters: Queue[Any], hand: Hand
) -> None:
    job = arrange(state, letters, hand, key)

    assert operating.cancel("default", [job]) == Outcome(1)
    assert not models.Job.objects.exists()
    assert not models.Step.objects.exists()


@KEYS
def test_a_running_job_is_told_to_stop(key: str | None, letters: Queue[Any], hand: Hand) -> None:
    letters.add("old", id=key)
    held = hand.take_one(letters)

    assert operating.cancel("default", [held.id]) == Outcome(1)
    assert letters.get("x") is None
    assert row(pk=held.id).cancelled
    assert hand.end(held) == "cancelled"
    assert not models.Job.objects.exists()


def test_a_done_job_keeps_its_id_from_a_cancel(letters: Queue[Any], hand: Hand) -> None:
    job = arrange("done", letters, hand)

    assert operating.cancel("default", [job]) == left("done")
    assert letters.add("new", id="x") is False


@pytest.mark.parametrize("state", ["scheduled", "retried"])
def test_a_job_in_wait_is_run_now_with_all_else_as_it_is(
    state: str, letters: Queue[Any], hand: Hand, heard: list[str], clock: Clock
) -> None:
    job = arrange(state, letters, hand)
    before = models.Job.objects.values().get()
    clock.advance("1m")

    assert operating.run_now("default", [job]) == Outcome(1)

    assert models.Job.objects.values().get() == before | {"at": clock.now, "due": clock.now}
    assert hand.take_one(letters).attempt == before["attempt"] + 1


def test_a_repeating_job_run_now_has_its_next_tick_after_it(shop: Store, hand: Hand, clock: Clock) -> None:
    reports = shop.queue("reports")
    reports.add(None, id="daily", cron="0 0 * * *", time_zone="UTC")

    assert operating.run_now("default", [row().pk]) == Outcome(1)
    hand.end(hand.take_one(reports))

    assert (row().state, row().at) == (models.Job.State.READY, after(hours=12))


@pytest.mark.parametrize("state", ["waiting", "running", "failed", "done"])
def test_only_a_scheduled_job_is_run_now(state: str, letters: Queue[Any], hand: Hand) -> None:
    assert_left(operating.run_now, state, letters, hand)


@pytest.mark.parametrize("state", ["scheduled", "waiting", "retried"])
def test_a_job_that_has_not_started_is_moved_with_all_else_as_it_is(
    state: str, letters: Queue[Any], hand: Hand
) -> None:
    job = arrange(state, letters, hand)
    before = models.Job.objects.values().get()

    assert move("default", [job]) == Outcome(1)

    assert models.Job.objects.values().get() == before | {"at": after(days=1), "due": after(days=1)}


@pytest.mark.parametrize("state", ["running", "failed", "done"])
def test_a_job_that_has_started_is_not_moved(state: str, letters: Queue[Any], hand: Hand) -> None:
    assert_left(move, state, letters, hand)


@pytest.mark.parametrize("verb", ["run_now", "move"])
def test_a_job_made_due_sooner_wakes_the_workers_of_its_queue(
    verb: str,
    letters: Queue[Any],
    hand: Hand,
    heard: list[str],
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]],
) -> None:
    job = arrange("scheduled", letters, hand)

    with django_capture_on_commit_callbacks(execute=True):
        VERBS[verb]("default", [job])

    assert heard == ["letters"]


def test_a_retry_writes_the_row_that_a_set_would(letters: Queue[Any], hand: Hand, clock: Clock) -> None:
    one = arrange("failed", letters, hand, "one")
    other = arrange("failed", letters, hand, "other")
    clock.advance("1h")

    operating.retry("default", [one])
    letters.set("other", "old")

    rows = models.Job.objects.in_bulk([one, other])
    assert columns(rows[one]) == columns(rows[other])


@EACH
def test_a_job_past_its_keep_is_gone(verb: Verb, letters: Queue[Any], hand: Hand, clock: Clock) -> None:
    job = arrange("failed", letters, hand)
    clock.advance("2d")

    assert verb("default", [job]) == left("gone")
    assert row(pk=job).state == models.Job.State.FAILED


@EACH
def test_a_job_is_gone_once_it_is_cancelled_or_deleted(verb: Verb, letters: Queue[Any], hand: Hand) -> None:
    job = arrange("running", letters, hand)
    letters.cancel("x")

    assert verb("default", [job, job + 1000]) == left("gone", 2)


def test_a_failed_job_whose_id_another_has_is_not_retried(letters: Queue[Any], hand: Hand) -> None:
    job = arrange("failed", letters, hand)
    models.Job.objects.update(released=True)
    letters.add("new", id="x")

    assert operating.retry("default", [job]) == left("taken")


def test_many_jobs_are_retried_in_a_few_statements(
    letters: Queue[Any], hand: Hand, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(operating, "BATCH", 4)
    failed = [arrange("failed", letters, hand, f"f{number}") for number in range(9)]
    waiting = arrange("waiting", letters, hand, "w")

    with django_assert_max_num_queries(3 * 5):
        assert operating.retry("default", [*failed, waiting]) == Outcome(9, Counter({"waiting": 1}))

    assert models.Job.objects.filter(state=models.Job.State.READY, attempt=0).count() == 10


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@EACH
def test_a_job_that_another_transaction_holds_is_left_and_not_waited_for(
    verb: Verb, letters: Queue[Any], hand: Hand
) -> None:
    arrange("waiting", letters, hand)
    job, locked = row().pk, threading.Event()
    done = threading.Event()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold, job, locked, done)
        locked.wait(10)
        outcome = verb("default", [job])
        done.set()
        holding.result()

    assert outcome == left("busy")


def hold(job: int, locked: threading.Event, done: threading.Event) -> None:
    """Holds a job's row in a transaction of another connection."""
    with transaction.atomic():
        models.Job.objects.select_for_update().get(pk=job)
        locked.set()
        done.wait(10)
    connection.close()


def assert_left(verb: Verb, state: str, letters: Queue[Any], hand: Hand) -> None:
    """That a verb leaves a job of this state as it is, and says so."""
    job = arrange(state, letters, hand)
    before = models.Job.objects.values().get()

    assert verb("default", [job]) == left(state)
    assert models.Job.objects.values().get() == before


def left(why: str, count: int = 1) -> Outcome:
    return Outcome(0, Counter({why: count}))


def columns(job: models.Job) -> dict[str, Any]:
    """What two rows of jobs with different ids have alike."""
    return {name: value for name, value in vars(job).items() if name not in ("_state", "id", "key", "lease")}
