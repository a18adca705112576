"""A queue's name that becomes a schedule's, or the reverse, with rows there: neither runs the other's."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tinystore_django import Concurrency, Store, models
from tinystore_django.testing import Clock
from tinystore_django.worker.worker import Worker

pytestmark = pytest.mark.django_db
State = models.Job.State


def rows() -> list[tuple[Any, ...]]:
    found = models.Job.objects.exclude(value=" null").order_by("id")
    return [(job.key, job.value, job.state, job.attempt) for job in found]


@pytest.fixture
def as_queue(clock: Clock) -> Any:
    queue = Store().queue("cleanup", str, attempts=2)
    queue.add("a", id="x")
    queue.add("b", id="cleanup")
    queue.add("c", group="g")
    queue.add("d", id="rep", every="1h", delay="0s")
    return queue


@pytest.fixture
def as_schedule(clock: Clock) -> Any:
    return Store().schedule("cleanup", every="1h")


ASIDE = [("x", '"a"', 4, 0), (None, '"b"', 4, 0), (None, '"c"', 4, 0), ("rep", '"d"', 4, 0)]


def test_a_schedule_opens_and_runs_and_leaves_the_jobs_of_a_former_queue(
    as_queue: Any, as_schedule: Any, clock: Clock
) -> None:
    ran: list[Any] = []
    as_schedule.run_due(lambda: ran.append(1))
    clock.advance("1h")

    assert as_schedule.run_due(lambda: ran.append(1)) == 1

    assert ran == [1]
    assert rows() == ASIDE


def test_jobs_that_are_added_while_it_runs_are_left_too(as_queue: Any, as_schedule: Any, clock: Clock) -> None:
    as_schedule.run_due(lambda: None)
    as_queue.add("e", id="y")
    as_queue.add("f", id="z")
    clock.advance("1h")

    assert as_schedule.run_due(lambda: None) == 1
    assert rows() == [*ASIDE, ("y", '"e"', 4, 0), ("z", '"f"', 4, 0)]


@pytest.mark.parametrize("limit", [None, 1, Concurrency(group=1)])
def test_taken_back_the_queue_runs_all_of_them_and_not_the_schedules_row(
    limit: Any, as_queue: Any, as_schedule: Any, clock: Clock
) -> None:
    ran: list[str] = []
    as_schedule.run_due(lambda: None)
    clock.advance("2h")
    again = Store().queue("cleanup", str, attempts=2, concurrency=limit)

    again.run_due(ran.append)

    assert sorted(ran) == ["a", "b", "c", "d"]
    assert models.Job.objects.get(value=" null").state == State.ASIDE


def test_a_schedule_that_was_a_queue_for_a_while_goes_on(as_queue: Any, as_schedule: Any, clock: Clock) -> None:
    as_schedule.run_due(lambda: None)
    before = as_schedule.get()
    clock.advance("2h")
    as_queue.run_due(lambda value: None)

    assert as_schedule.run_due(lambda: None) == 1
    assert before is not None


def test_a_queues_own_repeating_job_may_have_the_queues_name(shop: Store, clock: Clock) -> None:
    queue = shop.queue("nothings", None)
    queue.add(None, id="nothings", every="1h", delay="0s")

    assert queue.run_due(lambda value: None) == 1


def test_what_is_left_is_seen_and_can_be_cancelled(as_queue: Any, as_schedule: Any) -> None:
    as_schedule.run_due(lambda: None)

    assert as_queue.get("x").state == "waiting"
    assert as_queue.cancel("x")


@pytest.mark.django_db(transaction=True)
def test_a_worker_says_what_it_found_and_what_to_do(
    as_queue: Any, as_schedule: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    with caplog.at_level(logging.WARNING, "tinystore_django"):
        Worker([as_schedule._declaration.handled_by(lambda: ran.append("s"))], until_idle=True).start().wait(20)
        Worker([as_queue._declaration.handled_by(ran.append)], until_idle=True).start().wait(20)

    assert sorted(ran) == ["a", "b", "c", "d"]
    said = [one.getMessage() for one in caplog.records]
    assert said[0].startswith("schedule cleanup: 4 jobs of a queue of that name are not run: give the schedule another")
    assert said[1].startswith("queue cleanup: the row of a schedule of that name is not run: give the queue another")
