"""settle: a run's end is written only while the run is still the job's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import Hand, row
from tinystore_django import Queue, models
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


@pytest.mark.parametrize("set_again", [False, True])
def test_a_repeat_that_no_longer_reads_ends_its_job_as_failed(
    set_again: bool, emails: Queue[Any], held: Any, hand: Hand
) -> None:
    models.Job.objects.update(repeat="0 13 * * * Mars/Olympus")
    if set_again:
        emails.set("x", "b")

    assert hand.end(held) is not None

    job = emails.get("x")
    assert job is not None
    assert (job.state, job.repeat) == ("failed", "0 13 * * * Mars/Olympus")
    assert "Mars/Olympus" in (job.error or "")
