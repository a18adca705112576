"""A run as its handler sees it, and as its worker controls it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from tests.byhand import NOON, after, row, us
from tinystore_django import InvalidError, Queue, Run, RunStopped, Store, models
from tinystore_django.control import Control
from tinystore_django.databases.rows import Held
from tinystore_django.errors import ConflictError

HELD = Held(1, 2, 3, "emails", "x", '"a"', us(NOON), 4, "g", None, us(after(seconds=5)))


@pytest.fixture
def control() -> Control:
    return Control("default", HELD)


def test_a_run_knows_its_job(control: Control) -> None:
    run = Run(control)

    assert (run.id, run.at, run.attempt, run.group, run.stopped) == ("x", NOON, 4, "g", False)
    assert (run.job, run.queue) == (1, "emails")
    assert str(control) == "emails id=x attempt=4"


def test_a_run_of_a_job_without_an_id_is_named_by_its_primary_key() -> None:
    assert str(Control("default", HELD._replace(key=None))) == "emails pk=1 attempt=4"


def test_a_run_holds_nothing_a_handler_could_set(control: Control) -> None:
    with pytest.raises(AttributeError):
        Run(control).note = "mine"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("when", "at", "delay"),
    [
        ("5m", None, 300_000_000),
        (timedelta(minutes=5), None, 300_000_000),
        (after(minutes=5), us(after(minutes=5)), None),
    ],
)
def test_an_answer_says_when(when: Any, at: int | None, delay: int | None, control: Control) -> None:
    for answer in (Run(control).retry(when), Run(control).snooze(when)):
        assert (answer.ending.at, answer.ending.delay) == (at, delay)


def test_an_answer_says_how_the_run_ended(control: Control) -> None:
    run = Run(control)

    assert (run.retry().ending.kind, run.retry().ending.error) == ("retry", "its handler asked for a retry")
    assert (run.snooze("1s").ending.kind, run.snooze("1s").ending.error) == ("snoozed", None)
    assert (run.fail(KeyError()).ending.kind, run.fail(KeyError()).ending.error) == ("failed", "KeyError")
    assert len(control.answers) == 6


@pytest.mark.parametrize("when", ["soon", 5, "-1s", NOON.replace(tzinfo=None)])
def test_an_answer_with_a_time_that_cannot_be_is_refused_and_not_made(when: Any, control: Control) -> None:
    for answer in (Run(control).retry, Run(control).snooze):
        with pytest.raises(InvalidError, match="^when "):
            answer(when)

    assert control.answers == []


@pytest.mark.parametrize(
    ("why", "error", "says"),
    [
        ("cancelled", RunStopped, "the job was cancelled"),
        ("timeout", RunStopped, "the run passed its timeout"),
        ("lost", ConflictError, "the run's lease was lost"),
    ],
)
def test_a_stopped_run_says_so_and_its_next_step_would_raise(
    why: Any, error: type[Exception], says: str, control: Control
) -> None:
    control.check_going()

    control.stop(why)

    assert Run(control).stopped
    with pytest.raises(error, match=says):
        control.check_going()


def test_the_first_reason_to_stop_stands_and_is_told_once(control: Control) -> None:
    told: list[str] = []
    control.on_stop = lambda: told.append("stop")

    control.stop("timeout")
    control.stop("cancelled")

    assert (control.why, told) == ("timeout", ["stop"])


# What it answers while it handles an exception.


def give(answer: Any, queue: Queue[Any]) -> models.Job:
    """The row after a run that answers so."""
    queue.add("a", id="x")
    assert queue.run_due(answer) == 1
    return row(key="x")


def fails() -> None:
    raise KeyError("user")


def retries(value: str, run: Run) -> Any:
    try:
        fails()
    except KeyError:
        return run.retry()


def gives_up(value: str, run: Run) -> Any:
    try:
        fails()
    except KeyError as error:
        return run.fail(error)


def explains(value: str, run: Run) -> Any:
    try:
        fails()
    except KeyError:
        return run.fail("no such user")


def makes_its_own(value: str, run: Run) -> Any:
    try:
        fails()
    except KeyError:
        return run.fail(ValueError("no such user"))


def gives_up_later(value: str, run: Run) -> Any:
    kept: Exception | None = None
    try:
        fails()
    except KeyError as error:
        kept = error
    return run.fail(kept)


async def aretries(value: str, run: Run) -> Any:
    return retries(value, run)


KEPT = [
    (retries, "'user'"),
    (aretries, "'user'"),
    (gives_up, "'user'"),
    (gives_up_later, "'user'"),
    (explains, "no such user"),
    (makes_its_own, "no such user"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("answer", "error"), KEPT, ids=lambda one: getattr(one, "__name__", ""))
def test_an_answer_in_an_except_keeps_the_exception_that_is_being_handled(
    answer: Any, error: str, shop: Store, clock: Any
) -> None:
    kept = give(answer, shop.queue("emails", attempts=3))

    assert kept.error == error
    assert "in fails" in (kept.traceback or "")
    assert "KeyError: 'user'" in (kept.traceback or "")
    assert ("ValueError: no such user" in (kept.traceback or "")) == (answer is makes_its_own)


@pytest.mark.django_db
def test_what_the_caller_of_run_due_is_handling_is_none_of_the_handlers(shop: Store, clock: Any) -> None:
    try:
        fails()
    except KeyError:
        kept = give(lambda value, run: run.retry(), shop.queue("emails", attempts=3))

    assert (kept.error, kept.traceback) == ("its handler asked for a retry", None)


@pytest.mark.django_db
def test_an_exception_that_was_handled_before_is_not_kept(shop: Store, clock: Any) -> None:
    def handle(value: str, run: Run) -> Any:
        with suppress(KeyError):
            fails()
        return run.retry()

    kept = give(handle, shop.queue("emails", attempts=3))

    assert (kept.error, kept.traceback) == ("its handler asked for a retry", None)
