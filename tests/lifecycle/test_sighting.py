"""What a watcher sees next of a job, whatever happened to it between two looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.byhand import NOON, Hand, after
from tinystore_django import CorruptError, Job, LastRun, Queue, Store, models
from tinystore_django.lifecycle import clearing, lines, operating, sighting, stepping
from tinystore_django.lifecycle.sighting import Sight, first, look
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def sight(queue: Queue[Any], id: str = "x") -> Sight:
    seen = first("default", queue.name, id, queue._declaration.codec, None)
    assert seen is not None
    return seen


def next_of(one: Sight) -> Job[Any] | None:
    """What another look shows of it that is new."""
    new = look("default", {"me": one}).news.get("me")
    return new and new.job


def told(job: Job[Any] | None) -> tuple[Any, ...] | None:
    return job and (job.state, job.at, job.attempt, job.ahead, job.progress, job.error)


@pytest.fixture
def plain(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue that keeps nothing of jobs that are done."""
    return shop.queue("plain", attempts=3)


@pytest.fixture
def waiting(plain: Queue[Any]) -> Sight:
    plain.add("a", id="x")
    return sight(plain)


def test_the_first_sight_is_what_get_shows(emails: Queue[Any]) -> None:
    emails.add("early", at=after(seconds=-1))
    emails.add("a", id="x")

    assert sight(emails).job == emails.get("x")
    assert sight(emails).job.ahead == 1


def test_an_id_without_a_job_is_not_seen(emails: Queue[Any], clock: Clock, hand: Hand) -> None:
    emails.add("a", id="past its dedupe")
    hand.end(hand.take_one(emails))
    clock.advance("1h")

    for id in ("x", "past its dedupe"):
        assert first("default", "emails", id, emails._declaration.codec, None) is None


def test_a_job_that_did_not_change_is_no_news(waiting: Sight) -> None:
    assert next_of(waiting) is None


def test_a_job_that_falls_due_is_news_without_a_write(plain: Queue[Any], clock: Clock) -> None:
    plain.add("a", id="x", delay="90s")
    scheduled = sight(plain)
    seen = look("default", {"me": scheduled})
    clock.advance("90s")

    assert (seen.news, seen.due_in) == ({}, 90.0)
    assert told(next_of(scheduled)) == ("waiting", after(seconds=90), 0, 0, None, None)


def test_a_claimed_job_is_running_with_its_attempt_counted(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    hand.take_one(plain)

    assert told(next_of(waiting)) == ("running", NOON, 1, 0, None, None)


def test_each_change_of_progress_is_news(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    held = hand.take_one(plain)
    stepping.report("default", held.fence, "1")
    one = sight(plain)
    before = next_of(one)
    stepping.report("default", held.fence, "true")

    assert (one.job.progress, before) == (1, None)
    assert told(next_of(one)) == ("running", NOON, 1, 0, True, None)


def test_a_job_in_wait_for_a_retry_is_scheduled_with_its_error(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    hand.end(hand.take_one(plain), "retry", "no luck", delay=60_000_000)

    job = next_of(waiting)

    assert told(job) == ("scheduled", after(minutes=1), 1, 0, None, "no luck")
    assert job is not None
    assert job.last_run == LastRun(NOON, NOON)


def test_a_snoozed_job_goes_on(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    hand.end(hand.take_one(plain), "snoozed", delay=60_000_000)

    assert told(next_of(waiting)) == ("scheduled", after(minutes=1), 0, 0, None, None)


def test_a_repeating_job_goes_on_at_its_next_tick(plain: Queue[Any], hand: Hand) -> None:
    plain.add("a", id="x", cron="0 * * * *", time_zone="UTC", at=NOON)
    one = sight(plain)
    hand.end(hand.take_one(plain))

    assert told(next_of(one)) == ("scheduled", after(hours=1), 0, 0, None, None)


def test_a_done_job_without_a_row_is_done_as_it_was_last_seen(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    held = hand.take_one(plain)
    stepping.report("default", held.fence, "1")
    running = sight(plain)
    hand.end(held)

    assert told(next_of(running)) == ("done", NOON, 1, 0, None, None)
    assert next_of(running) == replace(running.job, state="done", progress=None)
    # Nobody saw it run: it did, once at least.
    assert told(next_of(waiting)) == ("done", NOON, 1, 0, None, None)


def test_a_done_job_has_no_error(plain: Queue[Any], clock: Clock, hand: Hand) -> None:
    plain.add("a", id="x")
    hand.end(hand.take_one(plain), "retry", "no luck", delay=0)
    one = sight(plain)
    hand.end(hand.take_one(plain))

    assert told(next_of(one)) == ("done", NOON, 2, 0, None, None)


@pytest.mark.parametrize("options", [{"dedupe": "1h"}, {"keep_done": "1h"}], ids=["dedupe", "keep_done"])
def test_a_done_job_whose_row_is_kept_is_done(options: dict[str, Any], shop: Store, hand: Hand) -> None:
    kept = shop.queue("kept", **options)
    kept.add("a", id="x")
    one = sight(kept)
    hand.end(hand.take_one(kept))

    job = next_of(one)

    assert told(job) == ("done", NOON, 1, 0, None, None)
    assert job is not None
    assert job.last_run == LastRun(NOON, NOON)


def test_a_failed_job_is_failed_with_its_error(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    hand.end(hand.take_one(plain), "failed", "no more")

    assert told(next_of(waiting)) == ("failed", NOON, 1, 0, None, "no more")


def test_a_job_whose_keep_ran_out_between_two_looks_was_failed(shop: Store, clock: Clock, hand: Hand) -> None:
    brief = shop.queue("brief", keep="1ms")
    brief.add("a", id="x")
    one = sight(brief)
    hand.end(hand.take_one(brief), "failed", "no more")
    clock.advance("1s")
    clearing.clear("default")

    assert brief.get("x") is None
    assert told(next_of(one)) == ("failed", NOON, 1, 0, None, "no more")
    clock.advance("10m")
    assert clearing.clear("default") == 1


def test_a_cancelled_job_is_cancelled_whatever_it_was(plain: Queue[Any], hand: Hand) -> None:
    for id in ("scheduled", "waiting", "failed", "running", "ended"):
        plain.add("a", id=id, delay="1h" if id == "scheduled" else None, group=id)
    seen = {id: sight(plain, id) for id in ("scheduled", "waiting", "failed", "running", "ended")}
    taken = {held.key: held for held in hand.take(plain, 4)}
    hand.end(taken["waiting"], "given back")
    hand.end(taken["failed"], "failed", "no more")
    assert all(plain.cancel(id) for id in seen)
    hand.end(taken["ended"])

    states = {id: new.job.state for id, new in look("default", seen).news.items()}

    assert states == dict.fromkeys(seen, "cancelled")


def test_a_cancelled_job_is_shown_as_it_was_last_seen(plain: Queue[Any], waiting: Sight, hand: Hand) -> None:
    held = hand.take_one(plain)
    stepping.report("default", held.fence, "1")
    running = sight(plain)
    plain.cancel("x")

    assert next_of(running) == replace(running.job, state="cancelled", progress=None)
    assert next_of(waiting) == replace(waiting.job, state="cancelled")


def test_an_operators_cancel_is_one(plain: Queue[Any], waiting: Sight) -> None:
    assert operating.cancel("default", [waiting.row]).done == 1

    assert told(next_of(waiting)) == ("cancelled", NOON, 0, 0, None, None)


def test_an_id_that_was_given_to_another_job_meanwhile_ended_as_its_own_did(
    plain: Queue[Any], waiting: Sight, hand: Hand
) -> None:
    hand.end(hand.take_one(plain))
    plain.set("x", "b", delay="1h")
    other = sight(plain)
    plain.cancel("x")
    plain.add("c", id="x")

    assert told(next_of(waiting)) == ("done", NOON, 1, 0, None, None)
    assert told(next_of(other)) == ("cancelled", after(hours=1), 0, 0, None, None)


def test_a_failed_job_that_was_set_again_between_two_looks_goes_on(
    plain: Queue[Any], waiting: Sight, hand: Hand
) -> None:
    hand.end(hand.take_one(plain), "failed", "no more")
    plain.set("x", "b", delay="1h")

    job = next_of(waiting)

    assert told(job) == ("scheduled", after(hours=1), 0, 0, None, None)
    assert job is not None
    assert job.value == "b"


def test_a_running_job_that_was_set_again_goes_on_with_its_next_run(
    plain: Queue[Any], waiting: Sight, hand: Hand
) -> None:
    held = hand.take_one(plain)
    plain.set("x", "b", delay="1h")
    hand.end(held)

    assert told(next_of(waiting)) == ("scheduled", after(hours=1), 0, 0, None, None)


def test_a_value_that_no_longer_reads_leaves_the_rest_to_see(shop: Store, hand: Hand) -> None:
    numbers = shop.queue("numbers", int)
    numbers.add(1, id="x")
    one = sight(numbers)
    models.Job.objects.update(value='"one"')
    hand.take_one(numbers)

    job = next_of(one)

    assert told(job) == ("running", NOON, 1, 0, None, None)
    assert job is not None
    with pytest.raises(CorruptError):
        _ = job.value


def test_after_too_long_without_a_look_nobody_says_how_a_job_ended(plain: Queue[Any], waiting: Sight) -> None:
    plain.cancel("x")
    models.Cancel.objects.all().delete()

    new = look("default", {"me": waiting}, late=True).news["me"]

    assert (new.lost, new.over) == (True, True)


def test_a_cancel_is_remembered_for_ten_minutes(plain: Queue[Any], waiting: Sight, clock: Clock) -> None:
    plain.cancel("x")
    clock.advance("9m")
    assert clearing.clear("default") == 0
    assert told(next_of(waiting)) == ("cancelled", NOON, 0, 0, None, None)
    clock.advance("1m")

    assert clearing.clear("default") == 1
    assert not models.Cancel.objects.exists()


def test_many_jobs_that_did_not_change_are_one_query(
    plain: Queue[Any], hand: Hand, django_assert_num_queries: Any
) -> None:
    plain.add_many(range(500), id=str, delay="1h")
    seen = {id: sight(plain, id) for id in map(str, range(500))}

    with django_assert_num_queries(1):
        assert look("default", seen).news == {}


def test_only_the_values_of_jobs_that_changed_are_read(
    plain: Queue[Any], hand: Hand, django_assert_num_queries: Any
) -> None:
    plain.add("a", id="a")
    plain.add("b", id="b", delay="1h")
    seen = {id: sight(plain, id) for id in ("a", "b")}
    hand.take_one(plain)

    with django_assert_num_queries(2) as asked:
        news = look("default", seen).news

    assert {id: new.job.value for id, new in news.items()} == {"a": "a"}
    assert '"value"' not in asked.captured_queries[0]["sql"]


def test_the_jobs_ahead_of_many_are_one_query_a_queue(
    plain: Queue[Any], emails: Queue[Any], hand: Hand, django_assert_num_queries: Any
) -> None:
    for queue in (plain, emails):
        queue.add_many(range(20), id=str)
    seen = {(queue.name, id): sight(queue, id) for queue in (plain, emails) for id in map(str, range(20))}
    for held in hand.take(plain, 5):
        hand.end(held)

    with django_assert_num_queries(5) as asked:  # rows, two lines, cancels, values
        news = look("default", seen).news

    assert len(asked.captured_queries) == 5
    assert {id: new.job.ahead for (_, id), new in news.items() if new.job.state == "waiting"} == {
        str(number): number - 5 for number in range(5, 20)
    }


def test_a_job_that_is_set_aside_comes_behind_those_that_can_start_and_its_groups(plain: Queue[Any]) -> None:
    for id, group in (("a", "g"), ("b", "g"), ("c", "h"), ("d", "g"), ("e", "i")):
        plain.add(id, id=id, group=group)
    models.Job.objects.filter(key__in="bcd").update(state=models.Job.State.ASIDE)

    assert {id: sight(plain, id).job.ahead for id in "abcde"} == {"a": 0, "b": 2, "c": 2, "d": 3, "e": 1}


def test_at_most_ten_thousand_are_counted_ahead(plain: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST", 3)
    plain.add("early", at=after(seconds=-1))
    for id in "abcdef":
        plain.add(id, id=id)

    assert [sight(plain, id).job.ahead for id in "abcdef"] == [1, 2, 3, 3, 3, 3]


def test_a_job_that_leaves_its_line_during_a_look_is_left_to_the_next(
    plain: Queue[Any], waiting: Sight, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sighting.ahead
    monkeypatch.setattr(sighting, "ahead", lambda *about: (plain.cancel("x"), real(*about))[1])

    assert next_of(waiting) is None
    assert told(next_of(waiting)) == ("cancelled", NOON, 0, 0, None, None)
