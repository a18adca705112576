"""Runs that pass their timeout or are cancelled: told in time, never run twice, and never in the way for good."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from tests.programs import wait_for, worker
from tests.project.jobs import marks
from tests.project.jobs_connections import hangs, outlasting
from tests.project.models import End, Mark, Start
from tests.races.helpers import settled
from tinystore_django import Queue, Run, RunStopped, Store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.once]

PASSED = "the run passed its timeout of 0.3 s"


def queue_of(name: str, **options: Any) -> Queue[Any]:
    return Store().queue(name, **{"attempts": 1, "timeout": "300ms", "dedupe": "1h", "concurrency": 2, **options})


def test_a_sync_handler_that_ends_at_the_stop_is_told_of_its_timeout() -> None:
    queue = queue_of("polite")

    def wait(value: int, run: Run) -> None:
        while not run.stopped:
            time.sleep(0.01)
        raise RunStopped("enough")

    queue.add(1, id="a")
    with queue.work(wait):
        job = settled(queue, "a")

    assert (job.state, job.error) == ("failed", PASSED)


def test_an_async_handler_is_cancelled_at_its_timeout() -> None:
    queue = queue_of("endless")

    async def wait(value: int) -> None:
        await asyncio.sleep(60)

    queue.add(1, id="a")
    with queue.work(wait):
        job = settled(queue, "a")

    assert (job.state, job.error) == ("failed", PASSED)
    assert job.last_run.ended_at - job.last_run.started_at >= timedelta(seconds=0.25)


def test_what_a_handler_answers_after_its_timeout_settles_the_run_as_ever() -> None:
    queue = queue_of("late")

    def late(value: int, run: Run) -> Any:
        while not run.stopped:
            time.sleep(0.01)
        return None if value else run.fail("gave up")

    async def late_async(value: int) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)

    queue.add(1, id="done")
    queue.add(0, id="failed")
    with queue.work(late):
        assert settled(queue, "done").state == "done"
        assert settled(queue, "failed").error == "gave up"
    queue.add(1, id="async")
    with queue.work(late_async):
        assert settled(queue, "async").state == "done"


def test_another_error_at_the_timeout_is_told_as_it_is() -> None:
    queue = queue_of("other-error")

    async def wait(value: int) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError as error:
            raise ValueError("half done") from error

    queue.add(1, id="a")
    with queue.work(wait):
        assert settled(queue, "a").error == "half done"


def test_a_stuck_sync_handlers_stack_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    queue = queue_of("stuck")

    def stay_in_this_line(value: int) -> None:
        time.sleep(1.2)

    queue.add(1, id="a")
    with caplog.at_level(logging.WARNING, "tinystore_django"), queue.work(stay_in_this_line):
        settled(queue, "a")

    said = [record.getMessage() for record in caplog.records if "passed its timeout" in record.getMessage()]
    assert len(said) == 1
    assert "stay_in_this_line" in said[0]
    assert "stuck id=a attempt=1" in said[0]


def test_an_async_handler_that_blocks_the_loop_keeps_no_sync_handler_waiting() -> None:
    blocking, plain = queue_of("blocking"), queue_of("plain")

    async def block(value: int) -> None:
        time.sleep(1.0)

    blocking.add(1, id="a")
    with blocking.work(block), plain.work(lambda value: None):
        wait_for(lambda: blocking.get("a").state == "running")
        plain.add(1, id="a")
        settled(plain, "a")
        assert blocking.get("a").state == "running"
        assert settled(blocking, "a").state == "done"


def cancelled_while_running(queue: Queue[int], told: list[str]) -> None:
    """Cancels the job of a queue whose worker is up, and expects its handler to be told within a second or so."""
    queue.add(1, id="a")
    wait_for(lambda: "began" in told)
    time.sleep(0.1)

    assert queue.cancel("a") is True

    assert queue.get("a") is None
    assert queue.add(2, id="a", delay="1h") is True  # the id is free at once
    wait_for(lambda: "told" in told, 10)
    time.sleep(0.5)
    job = queue.get("a")
    assert (job.value, job.state, job.attempt, job.error, job.last_run) == (2, "scheduled", 0, None, None)


def test_a_cancelled_jobs_async_handler_gets_cancelled_error_and_settles_nothing() -> None:
    queue, told = queue_of("cancelled-async", timeout="1m"), []

    async def wait(value: int) -> None:
        told.append("began")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            told.append("told")
            raise

    with queue.work(wait):
        cancelled_while_running(queue, told)


def test_a_cancelled_jobs_sync_handler_sees_that_it_is_stopped_and_settles_nothing() -> None:
    queue, told = queue_of("cancelled-sync", timeout="1m"), []

    def wait(value: int, run: Run) -> None:
        told.append("began")
        while not run.stopped:
            time.sleep(0.01)
        told.append("told")
        raise ValueError("settles nothing")

    with queue.work(wait):
        cancelled_while_running(queue, told)


HANGING = ["sleep", "receive", "query"]


def hanging() -> list[str]:
    return [kind for kind in HANGING if kind != "query" or connection.vendor == "postgresql"]


def test_handlers_stuck_in_c_give_their_places_back_and_run_once_each() -> None:
    stuck = [f"{kind}-{number}" for kind in hanging() for number in (1, 2)]
    plain = [f"plain-{number}" for number in range(8)]
    for id in [*stuck, *plain]:
        hangs.add(id.partition("-")[0], id=id)

    with worker("hangs", "marks", "--lease=1s") as one:
        wait_for(Start.objects.exists)
        marks.add("other queue")
        wait_for(Mark.objects.exists)
        assert not End.objects.exists()  # another queue goes on meanwhile
        for id in [*stuck, *plain]:
            assert settled(hangs, id).attempt == 1
        four_at_once = [f"plain-{number}" for number in range(100, 104)]
        for id in four_at_once:
            hangs.add("plain", id=id)
            settled(hangs, id)
        for id in stuck:
            assert len(one.said("passed its timeout", f"id={id} ")) == 1
        one.send(signal.SIGTERM)
        assert one.wait() == 0

    assert sorted(Start.objects.values_list("name", "attempt")) == [
        (id, 1) for id in sorted([*stuck, *plain, *four_at_once])
    ]


def test_a_handler_that_never_ends_keeps_no_worker_from_ending() -> None:
    hangs.add("spin", id="spin")

    with worker("hangs", "--grace=1s", "--lease=2s") as one:
        one.wait_for_line("passed its timeout")
        hangs.add("plain", id="plain")
        settled(hangs, "plain")  # an endless loop shares the interpreter
        time.sleep(3)  # longer than the lease, which is renewed meanwhile
        assert hangs.get("spin").state == "running"
        asked = time.monotonic()
        one.send(signal.SIGTERM)
        assert one.wait() == 0
        assert time.monotonic() - asked < 7

    job = hangs.get("spin")
    assert (job.state, job.attempt) == ("waiting", 0)  # given back, its attempt not counted
    assert Start.objects.filter(name="spin").count() == 1


def test_no_shortness_of_timeout_lease_and_backoff_has_a_live_job_run_twice() -> None:
    outlasting.add("sleep", id="sleep")
    outlasting.add("receive", id="receive")

    with worker("outlasting", "--lease=1s") as one, worker("outlasting", "--lease=1s") as other:
        jobs = [settled(outlasting, id) for id in ("sleep", "receive")]

    assert [(job.state, job.attempt) for job in jobs] == [("done", 1), ("done", 1)]
    assert sorted(Start.objects.values_list("name", flat=True)) == ["receive", "sleep"]
    assert one.said("lost") == other.said("lost") == []


@pytest.mark.parametrize("lease", ["300ms", "0s", "999ms"])
def test_a_lease_too_short_to_be_renewed_in_time_is_refused_at_the_start(lease: str) -> None:
    with worker("marks", f"--lease={lease}") as one:
        assert one.wait() != 0

    assert len(one.said(f"lease '{lease}': write at least 1s")) == 1
