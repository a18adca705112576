"""run_due: what is due runs here and now."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError, OperationalError, connection, transaction

from tests.byhand import ALONE_OR_IN_A_BLOCK, NOON, Hand, after, how, row
from tests.project.models import Order
from tinystore_django import Backoff, Concurrency, CorruptError, InvalidError, Queue, Run, Store, models, testing
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.signals import job_settled, job_started
from tinystore_django.testing import Clock
from tinystore_django.worker import inline
from tinystore_django.worker.hold import Hold

pytestmark = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", attempts=3, backoff=Backoff("1m", "1m"))


def test_it_runs_what_is_due_in_order_and_says_how_many(emails: Queue[Any]) -> None:
    ran: list[str] = []
    for value, seconds in [("b", 0), ("a", -1), ("c", 0), ("later", 60)]:
        emails.add(value, at=after(seconds=seconds))

    assert emails.run_due(ran.append) == 3
    assert ran == ["a", "b", "c"]
    assert emails.run_due(ran.append) == 0


def test_it_runs_what_falls_due_meanwhile(emails: Queue[Any], clock: Clock) -> None:
    emails.add(3, id="x")
    emails.add("late", delay="2h")

    def handler(value: Any) -> None:
        if value == 3:
            emails.add("added by it")
            clock.advance("2h")

    assert emails.run_due(handler) == 3


def test_it_runs_in_the_calling_thread_on_its_connection(emails: Queue[Any]) -> None:
    seen: list[Any] = []
    emails.add("a")

    emails.run_due(lambda value: seen.append((threading.get_ident(), id(connection.connection))))

    assert seen == [(threading.get_ident(), id(connection.connection))]


def test_a_handler_that_raises_does_not_raise_out_of_it_and_others_run(emails: Queue[Any]) -> None:
    ran: list[str] = []
    emails.add("bad", id="bad")
    emails.add("good")

    def handler(value: str) -> None:
        ran.append(value)
        if value == "bad":
            raise ValueError("no luck")

    assert emails.run_due(handler) == 2
    assert ran == ["bad", "good"]
    job = emails.get("bad")
    assert job is not None
    assert (job.state, job.attempt, job.error) == ("scheduled", 1, "no luck")


def test_without_a_handler_it_is_refused_at_once(emails: Queue[Any], shop: Store) -> None:
    with pytest.raises(InvalidError, match="queue 'emails' has no handler: write @emails.handler above a function"):
        emails.run_due()
    with pytest.raises(InvalidError, match="schedule 'nightly' has no handler"):
        shop.schedule("nightly", every="1h").run_due()
    with pytest.raises(InvalidError, match="give a function"):
        emails.run_due("send")  # type: ignore[arg-type]


@pytest.mark.parametrize("concurrency", [0, -1, True, "2", 1.5])
def test_a_concurrency_that_cannot_be_is_refused(concurrency: Any, emails: Queue[Any]) -> None:
    with pytest.raises(InvalidError, match="concurrency .*: give a whole number from 1"):
        emails.run_due(print, concurrency=concurrency)


def test_a_handler_given_to_it_takes_the_place_of_the_queues_for_this_call(emails: Queue[Any]) -> None:
    ran: list[str] = []
    emails.handler(lambda value: ran.append(f"own {value}"))
    emails.add("a")
    emails.run_due(lambda value: ran.append(f"given {value}"))
    emails.add("b")
    emails.run_due()

    assert ran == ["given a", "own b"]


# In an open transaction.


def test_each_handler_runs_in_a_savepoint_of_an_open_transaction(emails: Queue[Any]) -> None:
    def handler(value: str) -> None:
        Order.objects.create(email=value)
        if value == "bad":
            raise ValueError("no luck")

    for value in ("good", "bad", "fine"):
        emails.add(value)

    assert emails.run_due(handler) == 3
    assert list(Order.objects.order_by("pk").values_list("email", flat=True)) == ["good", "fine"]
    assert connection.in_atomic_block


def test_an_answer_keeps_what_its_handler_wrote_in_an_open_transaction(emails: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> Any:
        Order.objects.create(email=value)
        return run.snooze("1h") if value == "snooze" else run.fail("no")

    emails.add("snooze")
    emails.add("fail")
    emails.run_due(handler)

    assert Order.objects.count() == 2


def test_a_handler_that_breaks_its_transaction_breaks_nothing_else(emails: Queue[Any]) -> None:
    Order.objects.create(pk=7, email="ada")
    emails.add("a", id="a")
    emails.add("b", id="b")

    def handler(value: str) -> None:
        if value == "a":
            try:
                Order.objects.create(pk=7, email="twice")
            except IntegrityError:
                Order.objects.filter(pk=7).exists()

    assert emails.run_due(handler) == 2
    assert emails.get("b") is None
    if connection.vendor == "postgresql":  # SQLite goes on after an error
        assert emails.get("a").attempt == 1  # type: ignore[union-attr]


def test_what_it_left_running_is_given_back(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x")
    held: list[Any] = []

    def handler(value: str) -> None:
        held.append(models.Lease.objects.count())

    emails.run_due(handler)

    assert held == [1]
    assert not models.Lease.objects.exists()


def test_a_run_that_moves_the_clock_past_the_lease_still_settles(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x")

    assert emails.run_due(lambda value: clock.advance("1d")) == 1
    assert emails.get("x") is None


def test_a_job_that_its_worker_lost_is_taken_back_and_run(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    ran: list[int] = []
    emails.add("a", id="x")
    hand.take_one(emails)
    before = emails.run_due(lambda value: None)
    clock.advance("31s")

    assert (before, emails.run_due(lambda value, run: ran.append(run.attempt))) == (0, 1)
    assert ran == [2]


def test_a_job_lost_meanwhile_settles_nothing(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    def handler(value: str) -> None:
        models.Job.objects.update(run=5)

    assert emails.run_due(handler) == 0
    assert emails.get("x").state == "running"  # type: ignore[union-attr]


def taken_back(queue: Queue[Any]) -> None:
    """Has its running jobs taken back, as if this worker had stalled for longer than its lease."""
    alias = queue._declaration.alias
    models.Lease.objects.using(alias).all().delete()
    leasing.sweep(alias, lambda name: queue._declaration.options)


def test_it_goes_on_though_the_run_of_a_job_was_taken_back_meanwhile(emails: Queue[Any]) -> None:
    ran: list[tuple[str, int]] = []
    emails.add("a", id="x")
    emails.add("b")

    def handler(value: str, run: Run) -> None:
        ran.append((value, run.attempt))
        if len(ran) == 1:
            taken_back(emails)

    assert emails.run_due(handler) == 2
    assert ran == [("a", 1), ("a", 2), ("b", 1)]
    assert not models.Job.objects.exists()


@pytest.mark.parametrize("aliases", [("default", "other"), ("other", "default")])
@pytest.mark.django_db(databases=["default", "other"])
def test_run_due_of_all_goes_on_where_the_only_run_of_a_pass_was_taken_back(aliases: tuple[str, str]) -> None:
    stores = [Store(using=alias) for alias in sorted(aliases)]
    by_alias = dict(zip(sorted(aliases), stores, strict=True))
    first, second = by_alias[aliases[0]].queue("first", attempts=1), by_alias[aliases[1]].queue("second")
    ran: list[str] = []

    @first.handler
    def handler(value: str) -> None:
        second.add("from the first")
        taken_back(first)

    second.handler(ran.append)
    first.add("a")

    assert testing.run_due() == 1
    assert ran == ["from the first"]


# Ctrl-C.


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Presses it, as a terminal does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
def test_ctrl_c_ends_it_and_the_job_is_given_back(
    block: Any, atomic: bool, emails: Queue[Any], ctrl_c: Callable[[], None]
) -> None:
    ran: list[str] = []

    def handler(value: str) -> None:
        ran.append(value)
        ctrl_c()

    emails.handler(atomic=atomic)(handler)
    emails.add("a", id="x")
    emails.add("b", id="y")

    with block():
        with pytest.raises(KeyboardInterrupt):
            emails.run_due()

        assert ran == ["a"]
        assert [how(emails.get(key)) for key in "xy"] == [("waiting", 0, None)] * 2
        assert not models.Lease.objects.exists()
        assert emails.run_due(lambda value: None) == 2


@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
def test_a_handler_that_ends_well_after_ctrl_c_is_settled(
    block: Any, emails: Queue[Any], ctrl_c: Callable[[], None]
) -> None:
    def handler(value: str) -> None:
        with suppress(KeyboardInterrupt):
            ctrl_c()

    emails.add("a", id="x")
    emails.add("b", id="y")

    with block():
        with pytest.raises(KeyboardInterrupt):
            emails.run_due(handler)

        assert (emails.get("x"), how(emails.get("y"))) == (None, ("waiting", 0, None))


@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
def test_ctrl_c_ends_it_while_an_async_handler_waits(
    block: Any, emails: Queue[Any], ctrl_c: Callable[[], None]
) -> None:
    got: list[type[BaseException]] = []
    over = threading.Event()

    async def handler(value: str) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError as error:
            got.append(type(error))
            raise
        finally:
            over.set()

    emails.add("a", id="x")

    with block():
        with pytest.raises(KeyboardInterrupt):
            emails.run_due(handler)

        assert how(emails.get("x")) == ("waiting", 0, None)
    assert over.wait(20)
    assert got == [asyncio.CancelledError]


@pytest.mark.django_db(transaction=True)
def test_ctrl_c_ends_its_threads_too(emails: Queue[Any], ctrl_c: Callable[[], None]) -> None:
    over = threading.Event()

    def handler(value: str, run: Run) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        over.wait(20)

    emails.add("a", id="x")
    with pytest.raises(KeyboardInterrupt):
        emails.run_due(handler, concurrency=2)
    over.set()

    assert how(emails.get("x")) == ("waiting", 0, None)


def test_ctrl_c_while_it_claims_gives_back_what_was_claimed(
    emails: Queue[Any], ctrl_c: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def claim_and_press(*args: Any) -> Any:
        claim(*args)
        ctrl_c()

    emails.add("a", id="x")
    monkeypatch.setattr(inline, "claim", claim_and_press)

    with pytest.raises(KeyboardInterrupt):
        emails.run_due(print)

    assert how(emails.get("x")) == ("waiting", 0, None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_handler_that_raises_as_ctrl_c_does_has_failed_all_the_same(
    error: type[BaseException], emails: Queue[Any], ctrl_c: Callable[[], None]
) -> None:
    def handler(value: str) -> None:
        raise error

    emails.add("a", id="x")

    assert emails.run_due(handler) == 1
    assert how(emails.get("x")) == ("scheduled", 1, error.__name__)


def test_a_projects_own_answer_to_ctrl_c_stays_its_own(emails: Queue[Any], ctrl_c: Callable[[], None]) -> None:
    pressed: list[int] = []
    emails.add("a", id="x")
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        assert emails.run_due(lambda value: ctrl_c()) == 1
    finally:
        signal.signal(signal.SIGINT, before)

    assert pressed == [signal.SIGINT]


def test_where_the_jobs_cannot_be_given_back_ctrl_c_is_heard_of_all_the_same(
    emails: Queue[Any], ctrl_c: Callable[[], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unanswered(self: Hold) -> None:
        raise OperationalError("no answer")

    emails.add("a", id="x")
    monkeypatch.setattr(Hold, "return_all", unanswered)

    with pytest.raises(KeyboardInterrupt):
        emails.run_due(lambda value: ctrl_c())

    assert "were not given back" in caplog.text


# The four calls of a handler on its own job, and on those that wait.


def test_a_worker_takes_nothing_ahead(emails: Queue[Any]) -> None:
    ran: list[str] = []
    for value in "abcd":
        emails.add(value, id=value)

    def handler(value: str) -> None:
        ran.append(value)
        if value == "a":
            assert [emails.get(key).state for key in "bcd"] == ["waiting"] * 3  # type: ignore[union-attr]
            assert emails.update("b", "b2")
            emails.set("c", "c2", delay="1h")
            assert emails.cancel("d")
            emails.add("urgent", at=after(hours=-1))

    emails.run_due(handler)

    assert ran == ["a", "urgent", "b2"]


def test_a_handler_that_sets_its_own_job_has_it_run_once_more(emails: Queue[Any]) -> None:
    ran: list[Any] = []
    emails.add(2, id="x")

    def handler(left: int, run: Run) -> Any:
        ran.append((left, run.attempt))
        if left:
            emails.set("x", left - 1)
        return run.fail("not yet") if left else None

    assert emails.run_due(handler) == 3
    assert ran == [(2, 1), (1, 1), (0, 1)]
    assert emails.get("x") is None


def test_a_handler_that_cancels_its_own_job_ends_it(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    def handler(value: str, run: Run) -> Any:
        assert emails.cancel("x") is True
        assert emails.get("x") is None
        assert emails.add("another", id="x", delay="1h") is True
        return run.retry()

    emails.run_due(handler)

    assert emails.get("x").value == "another"  # type: ignore[union-attr]
    assert models.Job.objects.count() == 1


# A value, and signals.


def test_a_value_that_no_longer_reads_fails_for_good_without_its_handler(shop: Store, clock: Clock) -> None:
    numbers = shop.queue("numbers", int)
    ran: list[int] = []
    numbers.add(1, id="x")
    models.Job.objects.update(value='"one"')

    numbers.run_due(ran.append)

    job = numbers.get("x")
    assert job is not None
    assert (ran, job.state, job.attempt) == ([], "failed", 1)
    assert (job.error or "").startswith("its value no longer reads: ")


def test_the_signals_tell_of_each_run(emails: Queue[Any], caplog: pytest.LogCaptureFixture) -> None:
    said: list[Any] = []

    def started(sender: str, id: str, attempt: int, **kwargs: Any) -> None:
        said.append((sender, id, attempt))

    def settled(sender: str, id: str, attempt: int, outcome: str, error: str | None, **kwargs: Any) -> None:
        said.append((id, attempt, outcome, error))
        raise ValueError("a broken receiver")

    job_started.connect(started, sender="emails")
    job_settled.connect(settled, sender="emails")
    emails.add("good", id="x")
    emails.add("bad", id="y")
    try:
        assert emails.run_due(lambda value, run: run.fail("no") if value == "bad" else None) == 2
    finally:
        job_started.disconnect(started, sender="emails")
        job_settled.disconnect(settled, sender="emails")

    assert said == [("emails", "x", 1), ("x", 1, "done", None), ("emails", "y", 1), ("y", 1, "failed", "no")]
    assert "a broken receiver" in caplog.text


def test_a_schedule_is_opened_and_runs_when_due(shop: Store, clock: Clock) -> None:
    ran: list[Any] = []
    nightly = shop.schedule("nightly", cron="0 13 * * *", time_zone="UTC")
    nightly.handler(lambda run: ran.append((run.at, run.id, run.attempt)))
    first = nightly.run_due()
    clock.advance("3d")

    assert (first, nightly.run_due()) == (0, 1)
    assert ran == [(after(hours=1), "nightly", 1)]
    job = nightly.get()
    assert job is not None
    assert (job.at, job.state) == (after(days=3, hours=1), "scheduled")


# Threads, and real transactions.


@pytest.mark.django_db(transaction=True)
def test_a_concurrency_above_one_runs_handlers_in_threads_at_once(shop: Store) -> None:
    pairs = shop.queue("pairs", timeout="30s")
    both = threading.Barrier(2, timeout=20)
    threads: set[int] = set()
    pairs.add("a")
    pairs.add("b")

    def handler(value: str) -> None:
        threads.add(threading.get_ident())
        both.wait()

    assert pairs.run_due(handler, concurrency=2) == 2
    assert len(threads) == 2
    assert threading.get_ident() not in threads


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("total", [None, 2])
def test_it_runs_what_a_handler_sets_for_its_own_job(shop: Store, concurrency: int, total: int | None) -> None:
    chain = shop.queue("chain", **({} if total is None else {"concurrency": total}))
    ran: list[int] = []
    chain.add(1, id="x")

    def handler(value: int) -> None:
        ran.append(value)
        if value < 3:
            chain.set("x", value + 1)

    assert chain.run_due(handler, concurrency=concurrency) == 3
    assert (ran, chain.get("x")) == ([1, 2, 3], None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("concurrency", [1, 2])
def test_it_runs_the_jobs_of_workers_that_died(emails: Queue[Any], concurrency: int) -> None:
    emails.add_many(range(120))  # more than are taken back at once
    Hand().take(emails, 120)
    models.Lease.objects.all().delete()
    ran: list[int] = []

    assert emails.run_due(ran.append, concurrency=concurrency) == 120
    assert sorted(ran) == list(range(120))


def test_inside_an_open_transaction_it_uses_no_threads(emails: Queue[Any]) -> None:
    threads: list[int] = []
    emails.add("a")

    emails.run_due(lambda value: threads.append(threading.get_ident()), concurrency=2)

    assert threads == [threading.get_ident()]


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_what_a_handler_left_open_is_rolled_back(emails: Queue[Any]) -> None:
    emails.add("a")

    def handler(value: str) -> None:
        transaction.set_autocommit(False)
        Order.objects.create(email=value)

    assert emails.run_due(handler) == 1
    assert not Order.objects.exists()
    assert transaction.get_autocommit()


@pytest.mark.django_db(transaction=True)
def test_a_failed_attempt_keeps_what_it_committed(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    def handler(value: str) -> None:
        Order.objects.create(email=value)
        raise ValueError("no luck")

    emails.run_due(handler)

    assert Order.objects.count() == 1


def test_the_time_a_run_is_due_is_its_run_at(emails: Queue[Any], clock: Clock) -> None:
    seen: list[Any] = []
    emails.add("a", id="x", group="g")
    clock.advance("5m")

    def handler(value: str, run: Run) -> Any:
        seen.append((run.id, run.at, run.attempt, run.group, run.stopped))
        return run.snooze("1m") if len(seen) == 1 else run.retry("1m") if len(seen) == 2 else None

    for _ in range(3):
        emails.run_due(handler)
        clock.advance("1m")

    assert seen == [("x", NOON, 1, "g", False), ("x", NOON, 1, "g", False), ("x", NOON, 2, "g", False)]


def test_nothing_is_logged_of_a_good_run(emails: Queue[Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    emails.add("a")
    emails.run_due(lambda value: None)

    assert caplog.records == []


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_a_transaction_the_caller_has_open_on_another_database_goes_on(shop: Store) -> None:
    emails = shop.queue("emails")
    emails.add("a")

    with transaction.atomic(using="other"):
        Order.objects.using("other").create(email="before")
        assert emails.run_due(lambda value: None) == 1
        Order.objects.using("other").create(email="after")

    assert Order.objects.using("other").count() == 2


@pytest.mark.parametrize(("attempts", "outcomes"), [(2, ["lost", "done"]), (1, ["failed"])])
def test_a_lost_run_is_told_of_by_whoever_takes_its_job_back(
    shop: Store, hand: Hand, clock: Clock, attempts: int, outcomes: list[str]
) -> None:
    queue = shop.queue("emails", attempts=attempts)
    queue.add("a")
    hand.take_one(queue)
    clock.advance("1h")
    told: list[tuple[str, str | None]] = []

    def hear(outcome: str, error: str | None, **about: Any) -> None:
        told.append((outcome, error))

    job_settled.connect(hear)
    try:
        queue.run_due(lambda value: None)
    finally:
        job_settled.disconnect(hear)

    assert [outcome for outcome, _ in told] == outcomes
    assert told[0][1] == "the worker was lost"


# raises=True.


class Refused(Exception):
    """What a handler raises."""


def refuse(value: str) -> None:
    raise Refused(value)


@pytest.mark.parametrize("block", ALONE_OR_IN_A_BLOCK)
def test_it_raises_the_first_exception_of_a_handler_once_its_run_is_settled(block: Any, emails: Queue[Any]) -> None:
    settled: list[str] = []

    def hear(id: str, outcome: str, **about: Any) -> None:
        settled.append(f"{id} {outcome}")

    def handler(value: str) -> None:
        Order.objects.create(email=value)
        if value != "good":
            refuse(value)

    for value in ("good", "bad", "worse"):
        emails.add(value, id=value)
    job_settled.connect(hear, sender="emails")
    try:
        with block():
            with pytest.raises(Refused, match="^bad$") as caught:
                emails.run_due(handler, raises=True)

            assert caught.traceback[-1].name == "refuse"
            assert settled == ["good done", "bad retry"]
            assert how(emails.get("bad")) == ("scheduled", 1, "bad")
            assert how(emails.get("worse")) == ("waiting", 0, None)
            assert not models.Lease.objects.exists()
            assert emails.run_due(handler) == 1  # nothing is raised unless it is asked for
    finally:
        job_settled.disconnect(hear, sender="emails")


@pytest.mark.django_db(transaction=True)
def test_it_raises_what_a_handler_in_another_thread_raised_and_lets_the_others_end(emails: Queue[Any]) -> None:
    both = threading.Barrier(2, timeout=20)
    raised = threading.Event()

    def handler(value: str) -> None:
        if value in ("bad", "good"):
            both.wait()
        if value == "bad":
            refuse(value)
        raised.wait(20)

    def settled(id: str, **about: Any) -> None:
        raised.set()

    job_settled.connect(settled, sender="emails")
    for value in ("bad", "good", "claimed as the first is settled", "later"):
        emails.add(value, id=value)
    try:
        with pytest.raises(Refused, match="^bad$"):
            emails.run_due(handler, concurrency=2, raises=True)
    finally:
        job_settled.disconnect(settled, sender="emails")

    assert how(emails.get("bad")) == ("scheduled", 1, "bad")
    assert emails.get("good") is None
    assert how(emails.get("later")) == ("waiting", 0, None)


def test_it_raises_what_an_async_handler_raised_and_from_its_async_twin(emails: Queue[Any]) -> None:
    async def handler(value: str) -> None:
        refuse(value)

    emails.add("a")
    with pytest.raises(Refused):
        emails.run_due(handler, raises=True)
    emails.add("b")
    with pytest.raises(Refused, match="^b$"):
        async_to_sync(emails.arun_due)(handler, raises=True)


def test_it_raises_what_fails_at_the_end_of_an_atomic_handlers_transaction(emails: Queue[Any]) -> None:
    emails.handler(atomic=True)(refuse)
    emails.add("a")

    with pytest.raises(Refused):
        emails.run_due(raises=True)


def test_a_value_that_does_not_read_is_raised_too(shop: Store, clock: Clock) -> None:
    numbers = shop.queue("numbers", int)
    numbers.add(1, id="x")
    models.Job.objects.update(value='"one"')

    with pytest.raises(CorruptError):
        numbers.run_due(print, raises=True)
    assert how(numbers.get("x"))[0] == "failed"  # type: ignore[index]


@pytest.mark.parametrize("answer", [lambda run: run.retry(), lambda run: run.snooze("1m"), lambda run: run.fail("no")])
def test_an_answer_is_no_exception(answer: Any, emails: Queue[Any]) -> None:
    emails.add("a")

    assert emails.run_due(lambda value, run: answer(run), raises=True) == 1


def test_what_a_handler_raises_because_its_job_is_cancelled_is_not_raised(emails: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> None:
        emails.cancel("x")
        run.step("next", lambda: 1)

    emails.add("a", id="x")

    assert emails.run_due(handler, raises=True) == 0


def test_a_schedule_raises_what_its_handler_raised(shop: Store, clock: Clock) -> None:
    nightly = shop.schedule("nightly", every="1h")
    nightly.run_due(lambda: None)
    clock.advance("1h")

    with pytest.raises(ZeroDivisionError):
        nightly.run_due(lambda: 1 / 0, raises=True)
    assert nightly.get().error == "division by zero"  # type: ignore[union-attr]


def test_run_due_of_all_raises_what_a_handler_raised(emails: Queue[Any], tinystore_run_due: Any) -> None:
    emails.handler(refuse)
    emails.add("a")
    emails.add("b")

    for run_due, value in ((testing.run_due, "a"), (tinystore_run_due, "b")):
        with pytest.raises(Refused, match=value):
            run_due(raises=True)


def test_a_groups_next_job_is_brought_back_though_an_exception_is_raised(shop: Store, clock: Clock) -> None:
    queue = shop.queue("grouped", concurrency=Concurrency(group=1))
    for value in ("a", "b"):
        queue.add(value, id=value, group="g")

    with pytest.raises(Refused):
        queue.run_due(refuse, raises=True)

    assert row(key="b").state == models.Job.State.READY
