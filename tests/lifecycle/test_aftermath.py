"""The rules of a run's end: retries, repeats, keeps. No database."""

from __future__ import annotations

from typing import Any

import pytest

from tinystore_django import Backoff, models
from tinystore_django.databases.rows import Held, Seen
from tinystore_django.lifecycle.aftermath import LOST, Ending, aftermath
from tinystore_django.options import queue_options
from tinystore_django.timing.clock import LATEST

State = models.Job.State
S = 1_000_000
HOUR, DAY = 3600 * S, 86_400 * S
NOW = 100 * DAY
OPTIONS = queue_options(attempts=3, backoff=Backoff("1m", "3m"))
HELD = Held(1, 1, 1, "emails", "x", '"a"', NOW - 60 * S, 1, "g", None, NOW - 30 * S)
HOURLY = HELD._replace(repeat="0 * * * * UTC")


def end(held: Held, kind: Any, options: Any = OPTIONS, seen: Seen | None = None, **about: Any) -> Any:
    return aftermath(held, Ending(kind, **about), options, seen or Seen(repeat=held.repeat), NOW)


def test_a_done_job_leaves_nothing() -> None:
    assert end(HELD, "done") is None


def test_a_done_job_keeps_its_id_for_dedupe_and_its_row_for_the_longer_of_both() -> None:
    deduped = end(HELD, "done", queue_options(dedupe="1h"))
    kept = end(HELD, "done", queue_options(keep_done="1d"))
    both = end(HELD, "done", queue_options(dedupe="1h", keep_done="1d"))

    assert (deduped.state, deduped.until, deduped.kept_until, deduped.released) == (3, NOW + HOUR, NOW + HOUR, False)
    assert (kept.until, kept.kept_until, kept.released) == (NOW, NOW + DAY, True)
    assert (both.until, both.kept_until, both.released) == (NOW + HOUR, NOW + DAY, False)


@pytest.mark.parametrize(("attempt", "wait"), [(1, 60), (2, 120)])
def test_a_failed_attempt_waits_its_backoff_from_the_runs_end_give_or_take_a_tenth(attempt: int, wait: int) -> None:
    waits = [end(HELD._replace(attempt=attempt), "retry", error="no luck").at - NOW for _ in range(200)]

    assert all(0.9 * wait * S <= one <= 1.1 * wait * S for one in waits)
    assert len(set(waits)) > 100


def test_a_retry_keeps_its_attempt_and_due_time_and_an_answers_time_is_taken() -> None:
    row = end(HELD, "retry", error="no luck", delay=300 * S)
    dated = end(HELD, "retry", at=NOW + HOUR)

    assert (row.state, row.at, row.due, row.attempt, row.error) == (State.READY, NOW + 300 * S, HELD.at, 1, "no luck")
    assert (row.last_started_at, row.last_ended_at, row.drops_steps) == (HELD.started_at, NOW, False)
    assert dated.at == NOW + HOUR


@pytest.mark.parametrize("kind", ["retry", "lost"])
def test_after_the_last_attempt_a_job_has_failed_and_is_kept(kind: Any) -> None:
    row = end(HELD._replace(attempt=3), kind, queue_options(attempts=3, keep="2d"), error="no luck")

    assert (row.state, row.at, row.attempt, row.error) == (State.FAILED, HELD.at, 3, "no luck")
    assert (row.ended_at, row.until, row.kept_until, row.drops_steps) == (NOW, NOW + 2 * DAY, NOW + 2 * DAY, True)


def test_fail_is_at_once_whatever_attempts_are_left() -> None:
    assert end(HELD, "failed", error="no").state == State.FAILED


def test_a_snooze_is_not_counted_and_keeps_the_error() -> None:
    row = end(HELD._replace(attempt=3), "snoozed", delay=HOUR)

    assert (row.state, row.at, row.due, row.attempt, row.keep_error) == (State.READY, NOW + HOUR, HELD.at, 2, True)


@pytest.mark.parametrize("kind", ["snoozed", "retry"])
def test_an_answer_past_the_year_9999_is_brought_to_its_end(kind: Any) -> None:
    assert end(HELD, kind, delay=LATEST).at == LATEST


def test_a_job_given_back_is_as_if_it_had_not_been_taken() -> None:
    row = end(HELD, "given back")

    assert (row.state, row.at, row.attempt, row.keep_error) == (State.READY, None, 0, True)
    assert (row.last_started_at, row.last_ended_at) == (None, None)


def test_a_lost_workers_job_is_due_at_once_and_the_attempt_counts() -> None:
    row = end(HELD, "lost", error=LOST)

    assert (row.state, row.at, row.attempt, row.error) == (State.READY, HELD.at, 1, LOST)


def test_a_lost_job_of_a_queue_this_process_does_not_know_runs_again() -> None:
    row = end(HELD._replace(attempt=99), "lost", options=None, error=LOST)

    assert (row.state, row.attempt) == (State.READY, 99)


def test_a_job_without_an_attempt_left_has_failed_with_the_error_it_has() -> None:
    row = end(HELD._replace(attempt=4), "spent")

    assert (row.state, row.attempt, row.keep_error) == (State.FAILED, 3, True)
    assert (row.last_started_at, row.last_ended_at) == (None, None)


def test_a_repeating_job_goes_on_at_the_next_tick_after_its_end() -> None:
    row = end(HOURLY, "done")

    assert (row.state, row.at, row.due, row.attempt, row.error) == (State.READY, NOW + HOUR, NOW + HOUR, 0, None)
    assert row.drops_steps


@pytest.mark.parametrize(("attempt", "kind"), [(3, "retry"), (3, "lost"), (1, "failed")])
def test_a_repeating_job_never_becomes_failed(attempt: int, kind: Any) -> None:
    row = end(HOURLY._replace(attempt=attempt), kind, error="no luck")

    assert (row.state, row.at, row.attempt, row.error) == (State.READY, NOW + HOUR, 0, "no luck")


def test_a_repeating_jobs_retry_is_no_later_than_its_next_tick_and_a_snooze_may_be() -> None:
    retry = end(HOURLY, "retry", error="no luck", delay=3 * HOUR)
    snooze = end(HOURLY, "snoozed", delay=3 * HOUR)

    assert (retry.at, retry.attempt, retry.due) == (NOW + HOUR, 1, HOURLY.at)
    assert snooze.at == NOW + 3 * HOUR


def test_a_repeating_job_is_never_done_whatever_is_kept() -> None:
    assert end(HOURLY, "done", queue_options(dedupe="1h", keep_done="1h")).state == State.READY


def test_a_job_whose_repeat_does_not_read_waits_and_says_so_and_never_fails() -> None:
    for kind in ("done", "failed", "spent"):
        row = end(HELD._replace(repeat="0 * * * * Mars/Olympus"), kind)

        assert (row.state, row.at, row.attempt) == (State.READY, LATEST, 0)
        assert "'0 * * * * Mars/Olympus' no longer reads" in row.error


def test_its_retry_its_snooze_and_its_run_more_have_a_time_all_the_same() -> None:
    held = HELD._replace(repeat="0 * * * * Mars/Olympus")

    assert end(held, "retry", error="no luck", delay=HOUR).at == NOW + HOUR
    assert end(held, "snoozed", delay=HOUR).at == NOW + HOUR
    assert end(held, "done", seen=Seen(NOW + HOUR, None, held.repeat)).at == NOW + HOUR


def test_the_repeat_is_the_one_that_the_row_has_when_the_run_ends() -> None:
    row = end(HELD, "done", seen=Seen(repeat="0 * * * * UTC"))

    assert (row.state, row.at, row.seen_repeat) == (State.READY, NOW + HOUR, "0 * * * * UTC")


def test_nothing_stays_of_a_cancelled_job() -> None:
    seen = Seen(NOW, "g", "0 * * * * UTC", cancelled=True)

    assert end(HELD, "retry", seen=seen) is None
