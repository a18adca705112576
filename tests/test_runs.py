"""A run as its handler sees it, and as its worker controls it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.byhand import NOON, after, us
from tinystore_django import InvalidError, Run, RunStopped
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
