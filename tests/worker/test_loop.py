"""The loop goes on, whatever goes wrong in one of its rounds."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from tests.byhand import how
from tests.programs import wait_for
from tinystore_django import Backoff, Concurrency, Store, Worker, models
from tinystore_django.lifecycle import asides
from tinystore_django.lifecycle.settling import Settling
from tinystore_django.signals import job_settled, job_started
from tinystore_django.worker import hold, loop
from tinystore_django.worker.ends import Ends
from tinystore_django.worker.hold import Hold
from tinystore_django.worker.pool import Pool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), KeyError("gone")])
def test_a_round_that_fails_is_followed_by_another(
    shop: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    queue, turn, failed = shop.queue("emails"), loop.turn, []

    def stumbling(*arguments: Any) -> Any:
        if not failed:
            failed.append(error)
            raise error
        return turn(*arguments)

    monkeypatch.setattr(loop, "turn", stumbling)
    seen: list[str] = []
    queue.add("a")
    with queue.work(seen.append):
        wait_for(lambda: seen == ["a"])

    assert failed == [error]
    assert "stumbled, and goes on" in caplog.text


def test_a_job_for_which_the_system_has_no_thread_is_a_failed_attempt(
    shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, start, refused = shop.queue("emails", backoff=Backoff("1ms", "1ms")), Pool.start, []

    def stumbling(pool: Pool, calls: Any, **how: Any) -> None:
        if not refused:
            refused.append(calls)
            raise RuntimeError("can't start new thread")
        start(pool, calls, **how)

    monkeypatch.setattr(Pool, "start", stumbling)
    seen: list[tuple[str, int]] = []
    queue.add("a")
    with queue.work(lambda value, run: seen.append((value, run.attempt))):
        wait_for(lambda: seen == [("a", 2)])


def test_runs_that_wait_for_each_other_are_at_work_together_after_instant_ones(shop: Store) -> None:
    queue, barrier = shop.queue("emails", attempts=1), threading.Barrier(3)
    seen: list[str] = []

    def handle(value: str) -> None:
        if value == "waits":
            barrier.wait(30)
        seen.append(value)

    for values in (["instant"] * 9, ["waits"] * 3):
        queue.add_many(values)
    with queue.work(handle, concurrency=3):
        wait_for(lambda: len(seen) == 12)

    assert not barrier.broken


def test_nothing_is_claimed_under_a_lease_that_may_have_run_out(shop: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lapsed = [True]
    monkeypatch.setattr(Hold, "lapsed", property(lambda hold: lapsed[0]))
    queue = shop.queue("emails")
    seen: list[str] = []
    turned: list[int] = []
    turn = loop.turn
    monkeypatch.setattr(loop, "turn", lambda *arguments: turned.append(1) or turn(*arguments))

    with queue.work(seen.append):
        queue.add("a")
        wait_for(lambda: len(turned) > 2)
        assert seen == []
        lapsed[0] = False
        wait_for(lambda: seen == ["a"])


@pytest.mark.parametrize("limit", ["rate", "group_rate"])
def test_a_worker_sleeps_until_the_next_start_that_a_rate_allows(
    limit: str, shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned: list[int] = []
    turn = loop.turn
    monkeypatch.setattr(loop, "turn", lambda *arguments: turned.append(1) or turn(*arguments))
    queue = shop.queue("emails", **{limit: "1/400ms"})  # type: ignore[call-overload]
    for value in "abc":
        queue.add(value, group="g")
    seen: list[str] = []
    queue.handler(seen.append)

    with Worker([queue._declaration], poll=30_000_000).start():
        wait_for(lambda: len(seen) == 3, 10)

    assert seen == ["a", "b", "c"]
    # A round for each start, each end and each time the rate is free; SQLite's own writes wake it once more for each.
    assert len(turned) <= 20


def test_a_settle_whose_answer_was_lost_alarms_nobody(
    shop: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tinystore_django")
    turn = loop.turn
    broken: list[int] = []

    def lose_an_answer(alias: str, lease: int, finished: Any, asked: Any) -> Any:
        answer = turn(alias, lease, finished, asked)
        if finished and not broken:
            broken.append(1)
            raise OperationalError("the connection was lost")
        return answer

    monkeypatch.setattr(loop, "turn", lose_an_answer)
    queue = shop.queue("emails")
    queue.add("a", id="x")

    with queue.work(lambda value: None):
        wait_for(lambda: "id=x attempt=1 settled, or taken back" in caplog.text)

    assert "no longer this worker's" not in caplog.text
    assert queue.get("x") is None


def test_a_database_that_stops_answering_as_a_worker_starts_is_waited_for(
    shop: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tend, failed = asides.tend, []

    def away(*arguments: Any) -> Any:
        if len(failed) < 2:
            failed.append(1)
            raise OperationalError("the server is away")
        return tend(*arguments)

    monkeypatch.setattr(asides, "tend", away)
    queue = shop.queue("emails", concurrency=2)
    queue.add("a")
    seen: list[str] = []

    with queue.work(seen.append):
        wait_for(lambda: seen == ["a"])

    assert len(failed) == 2
    assert "the server is away; going on as soon as it answers" in caplog.text


@pytest.mark.postgresql
@pytest.mark.parametrize("limit", [{"concurrency": 1}, {"concurrency": Concurrency(group=1)}, {"rate": "9/s"}], ids=str)
def test_a_transaction_that_holds_a_limited_queue_holds_up_no_other_and_no_stop(limit: Any, shop: Store) -> None:
    limited, other = shop.queue("limited", **limit), shop.queue("other")
    seen: list[str] = []
    for queue in (limited, other):
        queue.handler(seen.append)
    worker = Worker([limited._declaration, other._declaration]).start()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            models.Queue.objects.select_for_update().get(name="limited")
            held.set()
            done.wait(30)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    limited.add("limited")
    for value in "ab":
        other.add(value)
        wait_for(lambda value=value: value in seen)
    worker.ask_to_stop(grace=0)

    assert worker.wait(10)
    done.set()
    thread.join()
    assert seen == ["a", "b"]
    assert limited.run_due() == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("broken", ["the last settle", "the loop itself"])
def test_a_loop_gives_its_jobs_back_whatever_is_raised_at_its_end(
    broken: str, shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, begun, may_end = shop.queue("emails"), threading.Event(), threading.Event()

    def handle(value: str) -> None:
        begun.set()
        may_end.wait(20)

    def breaking(*arguments: Any) -> Any:
        raise KeyError("what nobody thought of")

    queue.add("a")
    worker = queue.work(handle)
    begun.wait(20)
    if broken == "the last settle":
        monkeypatch.setattr(loop, "turn", breaking)
        worker.stop(0)
    else:
        monkeypatch.setattr(Ends, "gather", breaking)
        queue.add("b", delay="1h")  # which wakes it

    wait_for(lambda: models.Job.objects.filter(value='"a"', state=models.Job.State.READY, attempt=0).exists())
    may_end.set()
    worker.stop(0)


def test_a_job_that_failed_for_good_is_a_warning_with_its_errors_class(
    shop: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tinystore_django")
    queue = shop.queue("emails", str, attempts=2, backoff=Backoff("1ms", "1ms"))
    queue.add("a", id="x")

    def fail(value: str) -> None:
        raise KeyError("user")

    with queue.work(fail) as worker:
        wait_for(lambda: worker.settled == 2)

    said = [(one.levelname, one.getMessage()) for one in caplog.records if "KeyError" in one.getMessage()]
    assert [level for level, _ in said] == ["INFO", "WARNING"]
    assert all(line.endswith("ms: KeyError: 'user'") for _, line in said)


def test_a_job_that_had_no_attempt_left_says_so(shop: Store, caplog: pytest.LogCaptureFixture) -> None:
    queue, heard = shop.queue("emails", attempts=2), []
    queue.add("a", id="x")
    models.Job.objects.update(attempt=2, error="the worker was lost")

    def settled(**about: Any) -> None:
        heard.append((about["outcome"], about["error"]))

    job_settled.connect(settled, sender="emails")
    try:
        with queue.work(print):
            wait_for(lambda: heard)
    finally:
        job_settled.disconnect(settled, sender="emails")

    assert heard == [("failed", "no attempt was left")]
    assert [one.levelname for one in caplog.records if "ms: no attempt was left" in one.getMessage()] == ["WARNING"]
    assert models.Job.objects.get().error == "the worker was lost"  # why it was


@pytest.mark.parametrize("threads", [True, False], ids=["worker", "run_due"])
def test_job_settled_has_the_exception_of_a_failure_and_the_jobs_primary_key(threads: bool, shop: Store) -> None:
    queue, heard = shop.queue("emails", str, attempts=1), []

    def started(**about: Any) -> None:
        heard.append(about["job"])

    def settled(**about: Any) -> None:
        heard.append((about["job"], about["exception"], about["traceback"]))

    def fail(value: str) -> None:
        if value == "bad":
            raise KeyError("user")

    job_started.connect(started, sender="emails")
    job_settled.connect(settled, sender="emails")
    try:
        for value in ("bad", "good"):
            queue.add(value, id=value)
            key = models.Job.objects.get(key=value).pk
            if threads:
                with queue.work(fail):
                    wait_for(lambda value=value: len(heard) == (2 if value == "bad" else 4))
            else:
                queue.run_due(fail)
            first, (second, error, trace) = heard[-2:]
            assert (first, second) == (key, key)
            if value == "bad":
                assert isinstance(error, KeyError)
                assert "in fail" in trace
            else:
                assert (error, trace) == (None, None)
    finally:
        job_started.disconnect(started, sender="emails")
        job_settled.disconnect(settled, sender="emails")


@pytest.mark.parametrize("why", ["it stops", "its lease ran out", "its lease was lost", "another was taken"])
def test_what_was_claimed_too_late_does_not_start_and_is_given_back_uncounted(
    why: str, shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, turn, late = shop.queue("emails"), loop.turn, []
    seen: list[str] = []

    def wait_long(alias: str, lease: int, finished: Any, asked: Any) -> Any:
        answer = turn(alias, lease, finished, asked)
        if not late and answer[1] is not None and answer[1].held:
            late.append(1)
            meanwhile()
        return answer

    def meanwhile() -> None:
        if why == "it stops":
            worker.ask_to_stop(5)
        elif why == "its lease ran out":
            worker._hold._lasts_until = 0.0
        else:
            worker._hold.lease = None
            if why == "another was taken":
                worker._hold.take()

    monkeypatch.setattr(loop, "turn", wait_long)
    queue.add("a", id="x")
    worker = Worker([queue._declaration.handled_by(seen.append)], lease=1_000_000)
    given_back: list[int] = []
    real = Hold.give_back
    monkeypatch.setattr(Hold, "give_back", lambda hold, jobs: (given_back.append(len(jobs)), real(hold, jobs)))
    with worker.start():
        wait_for(lambda: 1 in given_back)
        wait_for(lambda: queue.get("x") is None or why == "it stops")
    job = queue.get("x")

    assert seen == ([] if why == "it stops" else ["a"])
    assert how(job) == (("waiting", 0, None) if why == "it stops" else None)


def test_what_ended_during_a_long_claim_is_settled_before_anything_is_given_back(
    shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, turn, go = shop.queue("emails"), loop.turn, threading.Event()
    left: list[set[str]] = []
    real = Hold.give_back

    def handle(value: str) -> None:
        if value == "runs":
            go.wait(30)

    def wait_long(alias: str, lease: int, finished: Any, asked: Any) -> Any:
        answer = turn(alias, lease, finished, asked)
        if answer[1] is not None and [held.key for held in answer[1].held] == ["late"]:
            worker.ask_to_stop(5)
            go.set()
            wait_for(lambda: bool(worker._loop._ends))
        return answer

    def give_back(hold: Hold, jobs: Any) -> None:
        left.append({job.id for job in queue.list().jobs})
        real(hold, jobs)

    monkeypatch.setattr(loop, "turn", wait_long)
    monkeypatch.setattr(Hold, "give_back", give_back)
    queue.add("runs", id="runs")
    worker = Worker([queue._declaration.handled_by(handle)], concurrency=2)
    with worker.start():
        wait_for(lambda: how(queue.get("runs")) == ("running", 1, None))
        queue.add("late", id="late")
        assert worker.wait(10)

    assert left[0] == {"late"}
    assert how(queue.get("late")) == ("waiting", 0, None)


def test_a_worker_whose_poll_lease_and_grace_are_ages_runs_what_is_added(shop: Store) -> None:
    queue, seen = shop.queue("emails", str, timeout=timedelta.max), []
    queue.handler(seen.append)
    ages = 99_999 * 7 * 24 * 3600 * 1_000_000

    with Worker([queue._declaration], poll=ages, lease=ages, grace=ages).start() as worker:
        for value in "ab":
            queue.add(value)
            wait_for(lambda value=value: value in seen)
        assert not worker.is_broken


def test_what_somebody_holds_while_it_is_given_back_is_given_back_once_it_is_free(
    shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that no round looked at again would be `running` for as long as its worker lives."""
    turn, settle_all, held = loop.turn, hold.settle_all, [1, 1, 1]
    lost: list[int] = []

    def lose_a_claim(*arguments: Any) -> Any:
        answer = turn(*arguments)
        if not lost and answer[1] is not None and answer[1].held:
            lost.append(1)
            raise OperationalError("the connection was lost")
        return answer

    def leave(alias: str, finished: Any) -> Any:
        if finished and held:
            held.pop()
            return Settling({}, finished)
        return settle_all(alias, finished)

    monkeypatch.setattr(loop, "turn", lose_a_claim)
    monkeypatch.setattr(hold, "settle_all", leave)
    queue = shop.queue("emails")
    queue.add("a", id="x")
    seen: list[tuple[str, int]] = []
    with queue.work(lambda value, run: seen.append((value, run.attempt))):
        wait_for(lambda: seen == [("a", 1)])

    assert not held


def test_a_settled_run_of_which_no_receiver_can_be_told_leaves_its_place_to_another(
    shop: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(pool: Pool, calls: Any, **how: Any) -> None:
        raise RuntimeError("can't start new thread")

    async def handle(value: int) -> None:
        seen.append(value)

    def receiver(**about: Any) -> None:
        pass

    monkeypatch.setattr(Pool, "start", none)
    queue = shop.queue("emails", int, concurrency=2)
    seen: list[int] = []
    queue.add_many(range(6))
    job_settled.connect(receiver, sender="emails")
    try:
        with queue.work(handle, concurrency=2) as worker:
            wait_for(lambda: worker.settled == 6)
            wait_for(lambda: not worker._loop._busy())
    finally:
        job_settled.disconnect(receiver, sender="emails")

    assert sorted(seen) == list(range(6))
    assert "no receiver of job_settled is told" in caplog.text
