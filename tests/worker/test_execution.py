"""One run: what its handler returns or raises, and what becomes of its job."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from tests.byhand import NOON, after, after_run, how, row
from tests.project.models import Order
from tinystore_django import Backoff, InvalidError, Queue, Run, Store, models
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", attempts=2, backoff=Backoff("1m", "1m"), timeout="30s", dedupe="1h")


# What it returns.


@pytest.mark.parametrize("answer", [None, 0, "text" * 10_000, object(), lambda: None, ValueError("returned"), {1: 2}])
def test_a_handler_that_returns_is_done_whatever_it_returns(answer: Any, emails: Queue[Any]) -> None:
    assert how(after_run(emails, lambda value: answer)) == ("done", 1, None)


def test_a_retry_waits_its_backoff_and_counts(emails: Queue[Any]) -> None:
    job = after_run(emails, lambda value, run: run.retry())

    assert how(job) == ("scheduled", 1, "its handler asked for a retry")
    assert after(seconds=54) <= job.at <= after(seconds=66)


@pytest.mark.parametrize("when", ["5m", after(minutes=5)])
def test_a_retry_or_a_snooze_may_say_when(when: Any, emails: Queue[Any], shop: Store) -> None:
    retried = after_run(emails, lambda value, run: run.retry(when))
    emails.cancel("x")
    snoozed = after_run(emails, lambda value, run: run.snooze(when))

    assert (retried.at, retried.attempt) == (after(minutes=5), 1)
    assert (snoozed.at, snoozed.attempt, snoozed.error) == (after(minutes=5), 0, None)


def test_a_retry_on_the_last_attempt_has_failed(emails: Queue[Any], clock: Clock) -> None:
    after_run(emails, lambda value, run: run.retry("1m"))
    clock.advance("1m")
    emails.run_due(lambda value, run: run.retry("1m"))

    assert how(emails.get("x")) == ("failed", 2, "its handler asked for a retry")


def test_snoozes_are_without_end_and_do_not_climb_the_backoff(emails: Queue[Any], clock: Clock) -> None:
    after_run(emails, lambda value, run: run.snooze("1s"))
    for _ in range(5):
        clock.advance("1s")
        assert emails.run_due(lambda value, run: run.snooze("1s")) == 1

    assert how(emails.get("x")) == ("scheduled", 0, None)


@pytest.mark.parametrize(
    ("reason", "error"),
    [("no", "no"), (ValueError("no luck"), "no luck"), (ValueError(), "ValueError"), (7, "7"), ("", "")],
)
def test_fail_is_for_good_with_its_reason(reason: Any, error: str, emails: Queue[Any]) -> None:
    assert how(after_run(emails, lambda value, run: run.fail(reason))) == ("failed", 1, error)


def test_an_answer_past_the_end_of_time_is_brought_to_it(emails: Queue[Any]) -> None:
    job = after_run(emails, lambda value, run: run.snooze("500000w"))

    assert job.at.year == 9999


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        (lambda run: run.retry(), "run.retry()"),
        (lambda run: run.snooze("1m"), 'run.snooze("5m")'),
        (lambda run: run.fail("no"), 'run.fail("…")'),
    ],
)
def test_an_answer_made_and_not_returned_is_a_failed_attempt_that_says_what_to_return(
    made: Any, advice: str, emails: Queue[Any]
) -> None:
    def handler(value: str, run: Run) -> None:
        made(run)

    job = after_run(emails, handler)

    assert how(job) == (
        "scheduled", 1, f"its handler made an answer and did not return it: write `return {advice}`",
    )  # fmt: skip


@pytest.mark.parametrize("returned_first", [True, False])
def test_two_answers_of_which_one_is_returned_are_a_failed_attempt(returned_first: bool, emails: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> Any:
        if returned_first:
            answer = run.snooze("1m")
            run.retry()
            return answer
        run.retry()
        return run.snooze("1m")

    assert "did not return it: write `return run.retry()`" in (after_run(emails, handler).error or "")


def test_another_runs_answer_is_a_failed_attempt(emails: Queue[Any], shop: Store) -> None:
    kept: list[Any] = []
    others = shop.queue("others")
    others.add("b", id="y")

    def keep(value: str, run: Run) -> Any:
        kept.append(run.snooze("1m"))
        return kept[0]

    others.run_due(keep)
    job = after_run(emails, lambda value: kept[0])

    assert how(job) == ("scheduled", 1, "its handler returned the answer of another run")


def test_an_answer_with_a_bad_time_raises_in_the_handler(emails: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> Any:
        with pytest.raises(InvalidError):
            run.snooze(NOON.replace(tzinfo=None))
        return run.retry("5 minutes")

    assert "'5 minutes': write it as" in (after_run(emails, handler).error or "")


def test_work_that_was_not_done_is_a_failed_attempt(emails: Queue[Any]) -> None:
    async def coroutine() -> None: ...

    def generator(value: str) -> Any:
        yield value

    returned = after_run(emails, lambda value: coroutine()).error
    emails.cancel("x")
    yielded = after_run(emails, generator).error

    assert returned == "its handler returned a coroutine, which nobody awaits: write `async def`"
    assert yielded is not None
    assert yielded.startswith("its handler returned a generator")


# What it raises.


class Odd(BaseException):
    pass


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def deep(value: str) -> None:
    deep(value)


RAISED = [
    (ValueError("no luck"), "no luck"),
    (ValueError(), "ValueError"),
    (SystemExit(3), "3"),
    (SystemExit(), "SystemExit"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (MemoryError(), "MemoryError"),
    (asyncio.CancelledError(), "CancelledError"),
    (StopIteration(), "StopIteration"),
    (Odd(), "Odd"),
    (Mute(), "Mute"),
    (ValueError("a\0b\ud800"), "a�b�"),
]


@pytest.mark.parametrize(("error", "text"), RAISED, ids=repr)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whatever_a_handler_raises_is_a_failed_attempt(error: BaseException, text: str, emails: Queue[Any]) -> None:
    def handler(value: str) -> None:
        raise error

    assert how(after_run(emails, handler)) == ("scheduled", 1, text)
    if not isinstance(error, Mute):
        assert type(error).__name__ in (row().traceback or "")


ASYNC = [pair for pair in RAISED if not isinstance(pair[0], (SystemExit, KeyboardInterrupt, StopIteration))]


@pytest.mark.parametrize(("error", "text"), ASYNC, ids=repr)
def test_whatever_an_async_handler_raises_is_a_failed_attempt(
    error: BaseException, text: str, emails: Queue[Any]
) -> None:
    async def handler(value: str) -> None:
        raise error

    assert how(after_run(emails, handler)) == ("scheduled", 1, text)


def test_a_recursion_too_deep_is_a_failed_attempt(emails: Queue[Any]) -> None:
    job = after_run(emails, deep)

    assert "maximum recursion depth" in (job.error or "")
    assert len(row().traceback or "") <= 40_010


def test_a_long_error_is_cut_at_a_characters_end(emails: Queue[Any]) -> None:
    def handler(value: str) -> None:
        raise ValueError("é" * 3000)

    error = after_run(emails, handler).error

    assert error == "é" * 2048 + "…"


def test_the_last_attempt_that_raises_has_failed(emails: Queue[Any], clock: Clock) -> None:
    def handler(value: str) -> None:
        raise ValueError("no luck")

    after_run(emails, handler)
    clock.advance("2m")
    emails.run_due(handler)

    assert how(emails.get("x")) == ("failed", 2, "no luck")
    clock.advance("1h")
    assert emails.run_due(handler) == 0


# How it is called.


def test_a_handler_takes_the_value_or_the_value_and_the_run(emails: Queue[Any]) -> None:
    class Handler:
        def method(self, value: str, run: Run) -> None:
            seen.append((value, run.id))

        def __call__(self, value: str) -> None:
            seen.append(value)

    seen: list[Any] = []
    for handler in (
        seen.append,
        lambda value: seen.append(value),  # noqa: PLW0108
        lambda value, run: seen.append((value, run.id)),
        lambda *arguments: seen.append(len(arguments)),
        Handler(),
        Handler().method,
        functools.partial(lambda extra, value: seen.append(value), "extra"),
    ):
        after_run(emails, handler)
        emails.set("x", "b")
        emails.cancel("x")

    assert seen == ["a", "a", ("a", "x"), 2, "a", ("a", "x"), "a"]


def test_a_handler_that_takes_the_call_and_passes_it_on_wrongly_is_a_failed_attempt(emails: Queue[Any]) -> None:
    def handler(*arguments: Any) -> None:
        print(*arguments, nowhere=True)  # type: ignore[call-overload]

    job = after_run(emails, handler)

    assert (job.state, job.attempt) == ("scheduled", 1)
    assert "argument" in (job.error or "")


def test_an_async_handler_runs_and_may_use_the_queue_and_the_orm(emails: Queue[Any]) -> None:
    async def handler(value: str, run: Run) -> Any:
        await asyncio.sleep(0)
        await Order.objects.acreate(email=value)
        await emails.aadd("another", delay="1h")
        return run.snooze("1m")

    job = after_run(emails, handler)

    assert (job.at, Order.objects.count(), models.Job.objects.count()) == (after(minutes=1), 1, 2)
