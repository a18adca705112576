"""Steps and progress on their rows: kept by the run that is the job's own, and gone when they are nobody's any more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.byhand import LEASE, Hand
from tinystore_django import ConflictError, Queue, RunStopped, Store, models
from tinystore_django.control import Control
from tinystore_django.lifecycle import clearing, leasing, stepping
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.lifecycle.settling import Finished
from tinystore_django.options import queue_options
from tinystore_django.testing import Clock
from tinystore_django.worker.hold import Hold

pytestmark = pytest.mark.django_db
Running = Callable[..., Any]


def keep(held: Any, name: str = "render") -> None:
    stepping.keep("default", held.fence, name, "1")


def report(held: Any) -> None:
    stepping.report("default", held.fence, "50")


def left() -> tuple[int, int]:
    return models.Step.objects.count(), models.Progress.objects.count()


def again(emails: Queue[Any], held: Any, hand: Hand) -> Any:
    """The job's next run, after a retry."""
    hand.end(held, "retry", delay=0)
    return hand.take_one(emails)


def test_only_the_run_that_is_the_jobs_own_keeps_a_step(running: Running, emails: Queue[Any], hand: Hand) -> None:
    held = running()
    second = again(emails, held, hand)

    with pytest.raises(ConflictError, match="the run is no longer its job's own: its step was not kept"):
        keep(held)
    with pytest.raises(ConflictError):
        keep(second._replace(lease=second.lease + 1))
    keep(second)

    assert stepping.kept("default", held.id) == {"render": "1"}


def test_a_cancelled_jobs_step_is_told_so_and_not_kept(running: Running, emails: Queue[Any]) -> None:
    held = running()
    emails.cancel("x")

    with pytest.raises(RunStopped, match="the job was cancelled"):
        keep(held)

    assert left() == (0, 0)


@pytest.mark.parametrize("kind", ["done", "failed", "retry", "snoozed", "given back"])
def test_progress_goes_with_its_run_and_steps_with_their_job(kind: Any, running: Running, hand: Hand) -> None:
    held = running()
    keep(held)
    report(held)

    hand.end(held, kind, delay=0, kept_steps=True, reported=True)

    assert left() == (0 if kind in ("done", "failed") else 1, 0)


def test_a_round_that_settles_a_plain_run_and_claims_drops_its_steps_and_progress(shop: Store, hand: Hand) -> None:
    plain = shop.queue("plain")
    for _ in range(3):
        plain.add("a")
    kept, reported, neither = hand.take(plain, 3)
    keep(kept)
    report(reported)
    ended = [
        Finished(kept, Ending("done"), queue_options(), kept_steps=True),
        Finished(reported, Ending("done"), queue_options(), reported=True),
        Finished(neither, Ending("done"), queue_options()),
    ]

    for one in ended:
        turn("default", hand.lease, [one], Asked({"plain": 1}))

    assert (models.Job.objects.count(), *left()) == (0, 0, 0)


def test_another_jobs_steps_and_progress_stay(running: Running, emails: Queue[Any], hand: Hand) -> None:
    held = running()
    emails.add("other")
    other = hand.take_one(emails)
    for one in (held, other):
        keep(one)
        report(one)

    hand.end(held, "failed", kept_steps=True, reported=True)

    assert [*models.Step.objects.values_list("job"), *models.Progress.objects.values_list("job")] == [(other.id,)] * 2


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_lost_workers_run_leaves_nothing_of_a_job_that_ended(
    attempts: int, cancelled: bool, running: Running, emails: Queue[Any], clock: Clock
) -> None:
    held = running()
    keep(held)
    report(held)
    if cancelled:
        emails.cancel("x")
    clock.advance("31s")

    leasing.sweep("default", lambda queue: queue_options(attempts=attempts))

    goes_on = attempts > 1 and not cancelled
    assert left() == (int(goes_on), 0)


def test_a_set_in_the_run_of_a_worker_that_stops_drops_the_steps(running: Running, emails: Queue[Any]) -> None:
    held = running()
    keep(held)
    emails.set("x", "new")
    hold = Hold([emails._declaration], LEASE)
    hold.runs[held.fence] = Control("default", held)
    hold.return_all()

    assert left() == (0, 0)


def test_set_and_cancel_drop_the_steps_of_a_job_that_waits(running: Running, emails: Queue[Any], hand: Hand) -> None:
    held = running()
    kept = []
    for change in (lambda: emails.set("x", "new"), lambda: emails.cancel("x")):
        keep(held)
        hand.end(held, "retry", delay=0)
        change()
        kept.append(left())
        held = hand.take_one(emails) if emails.get("x") else None

    assert kept == [(0, 0), (0, 0)]


def on_small_tables(queries: CaptureQueriesContext) -> list[str]:
    found = (re.match(r"(.*?)\"tinystore_django_(step|progress)\"", query["sql"]) for query in queries)
    return [f"{match[1]}{match[2]}" for match in found if match]


def test_a_first_run_that_neither_kept_nor_reported_pays_no_statement_for_either(
    running: Running, emails: Queue[Any], hand: Hand
) -> None:
    first = running()
    with CaptureQueriesContext(connection) as queries:
        hand.end(first, "failed")
    emails.set("x", "again")
    second = hand.take_one(emails)
    with CaptureQueriesContext(connection) as queries_of_second:
        hand.end(second, "failed")

    assert on_small_tables(queries) == []
    assert on_small_tables(queries_of_second) == ["DELETE FROM step"]


@pytest.mark.parametrize("stands", ["gone", "run again", "in wait"])
def test_progress_that_crossed_its_runs_settle_is_cleared_and_that_of_running_jobs_stays(
    stands: str, running: Running, emails: Queue[Any], hand: Hand
) -> None:
    held = running()
    report(held)
    emails.add("late")
    late = hand.take_one(emails)
    quiet = leasing.renew("default", hand.lease, LEASE)
    hand.end(late, "failed" if stands == "gone" else "retry", delay=10**9 if stands == "in wait" else -1)
    if stands == "gone":
        models.Job.objects.filter(pk=late.id).delete()
    if stands == "run again":
        hand.take_one(emails)
    models.Progress.objects.create(job=late.id, run=late.run, progress="99")
    busy = leasing.renew("default", hand.lease, LEASE)
    clearing.clear("default")
    after = leasing.renew("default", hand.lease, LEASE)

    assert [one and one.clearable for one in (quiet, busy, after)] == [False, True, False]
    assert [row.job for row in models.Progress.objects.all()] == [held.id]
    assert emails.get("x").progress == 50  # type: ignore[union-attr]
