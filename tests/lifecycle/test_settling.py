"""settle: a run's end is written only while the run is still the job's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import Hand, after, row
from tinystore_django import Queue, Store, models
from tinystore_django.databases.rows import Held
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def held(emails: Queue[Any], hand: Hand) -> Any:
    emails.add("a", id="x")
    return hand.take_one(emails)


@pytest.mark.parametrize("kind", ["done", "retry", "snoozed", "failed", "lost", "given back"])
def test_the_outcome_of_a_settled_run_is_how_it_ended(kind: Any, held: Any, hand: Hand) -> None:
    assert hand.end(held, kind, delay=0) == kind


def test_a_retry_on_the_last_attempt_has_the_outcome_failed(emails: Queue[Any], held: Any, hand: Hand) -> None:
    for _ in range(2):
        hand.end(held, "retry", "no luck", delay=0)
        held = hand.take_one(emails)

    assert hand.end(held, "retry", "its handler asked for a retry") == "failed"
    assert emails.get("x").error == "its handler asked for a retry"  # type: ignore[union-attr]


@pytest.mark.parametrize("wrong", ["run", "lease", "id"])
@pytest.mark.parametrize("kind", ["done", "retry", "failed"])
def test_a_run_that_is_no_longer_the_jobs_own_settles_nothing(
    kind: Any, wrong: str, emails: Queue[Any], held: Any, hand: Hand
) -> None:
    stale = held._replace(**{wrong: getattr(held, wrong) + 1})

    assert hand.end(stale, kind) is None
    assert emails.get("x").state == "running"  # type: ignore[union-attr]


def test_a_run_settles_once(emails: Queue[Any], held: Any, hand: Hand) -> None:
    hand.end(held, "retry", "no luck", delay=0)

    assert hand.end(held, "done") is None
    assert emails.get("x").error == "no luck"  # type: ignore[union-attr]


def test_a_late_answer_leaves_the_run_that_came_after_it_alone(emails: Queue[Any], held: Any, hand: Hand) -> None:
    hand.end(held, "lost", "the worker was lost")
    other = Hand()
    again = other.take_one(emails)

    assert hand.end(held, "done") is None
    assert (emails.get("x").state, other.end(again)) == ("running", "done")  # type: ignore[union-attr]


def test_a_settled_row_holds_nothing_of_its_run(held: Any, hand: Hand) -> None:
    hand.end(held, "retry", "no luck", traceback="Traceback: here")

    assert (row().lease, row().started_at, row().next_at) == (None, None, None)
    assert (row().error, row().traceback) == ("no luck", "Traceback: here")


def test_the_steps_of_a_job_go_with_its_end_and_stay_for_its_retry(emails: Queue[Any], held: Any, hand: Hand) -> None:
    models.Step.objects.create(job=held.id, name="render", answer="1")
    models.Step.objects.create(job=held.id + 1000, name="another job's", answer="1")
    hand.end(held, "retry", "no luck", delay=0)
    kept = models.Step.objects.count()

    hand.end(hand.take_one(emails))

    assert (kept, [step.name for step in models.Step.objects.all()]) == (2, ["another job's"])


def test_the_steps_of_a_repeating_job_are_dropped_at_each_tick(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    emails.add("a", id="r", every="1h", at=clock.now)
    hand.end(hand.take_one(emails), "retry", "no luck", delay=0)
    held = hand.take_one(emails)
    models.Step.objects.create(job=held.id, name="render", answer="1")

    hand.end(held)

    assert models.Step.objects.count() == 0


def test_a_repeat_given_while_the_job_ran_is_the_one_it_goes_on_with(emails: Queue[Any], held: Any, hand: Hand) -> None:
    models.Job.objects.update(repeat="0 13 * * * UTC")

    hand.end(held)

    job = emails.get("x")
    assert job is not None
    assert (job.state, job.at.hour, job.repeat) == ("scheduled", 13, "0 13 * * * UTC")


@pytest.fixture
def plain_run(shop: Store, hand: Hand) -> tuple[Queue[Any], Held]:
    """A run of a queue of which nothing stays when it ends well."""
    queue = shop.queue("plain")
    queue.add("a", id="x")
    return queue, hand.take_one(queue)


@pytest.mark.parametrize("kind", ["done", "retry", "snoozed", "failed", "lost", "given back"])
def test_the_outcome_of_a_cancelled_jobs_run_is_cancelled_whatever_it_answers(
    kind: Any, plain_run: tuple[Queue[Any], Held], hand: Hand
) -> None:
    queue, held = plain_run
    queue.set("x", "b")
    queue.cancel("x")

    assert hand.end(held, kind, delay=0) == "cancelled"
    assert not models.Job.objects.exists()


@pytest.mark.parametrize("ended_well", [1, 3])
@pytest.mark.parametrize("total", [None, 4])
def test_a_round_that_settles_cancelled_jobs_beside_others_tells_them_apart(
    ended_well: int, total: int | None, shop: Store, hand: Hand
) -> None:
    queue = shop.queue("plain", **({} if total is None else {"concurrency": total}))
    queue.add_many(range(4), id=str)
    held = {one.key: one for one in hand.claim(queue, most=4).held}
    for key in range(ended_well, 4):
        queue.cancel(str(key))
    queue.add_many(range(4, 8), id=str)
    options = queue._declaration.options
    asked = Asked({"plain": 4}, {"plain": options} if total else {}, list(held.values()))

    ended = [Finished(one, Ending("done"), options) for one in held.values()]
    settling, claimed = turn("default", hand.lease, ended, asked)

    outcomes = {key: settling.outcomes[one.fence] for key, one in held.items()}
    assert outcomes == {str(key): "done" if key < ended_well else "cancelled" for key in range(4)}
    assert claimed is not None
    assert [one.key for one in claimed.held] == ["4", "5", "6", "7"]


def test_a_job_made_to_repeat_while_it_ran_goes_on_with_that(
    plain_run: tuple[Queue[Any], Held], hand: Hand, clock: Clock
) -> None:
    queue, held = plain_run
    models.Job.objects.update(repeat="0 13 * * * UTC")

    assert hand.end(held) == "done"
    assert queue.get("x").at == after(hours=1)  # type: ignore[union-attr]


def test_a_run_that_ends_well_is_settled_in_one_statement(
    plain_run: tuple[Queue[Any], Held], django_assert_num_queries: Any
) -> None:
    queue, held = plain_run
    finished = Finished(held, Ending("done"), queue._declaration.options)

    with django_assert_num_queries(1):
        assert settle("default", [finished]).outcomes == {held.fence: "done"}
