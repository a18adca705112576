"""Steps: each runs once in its job's life, and a rolled back one has not run."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.db import Error, connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.project.models import Mark
from tinystore_django import Queue, Run, Store, models
from tinystore_django.lifecycle import stepping

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 1024 * 1024


class Undone(Exception):
    """Rolls back the block around a step."""


@dataclass(frozen=True)
class Reply:
    """What an agent's model answers."""

    text: str
    day: date
    tokens: int = 0


class Pair(NamedTuple):
    left: int
    right: UUID


def mark() -> int:
    return int(Mark.objects.create(name="step").pk)


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails", attempts=3)


def run_all(queue: Queue[Any], handler: Callable[..., Any], value: Any = "a") -> Any:
    """Runs a job "x" until it has ended; the job, None where it is done."""
    queue.add(value, id="x")
    while queue.run_due(handler):
        pass
    return queue.get("x")


def error_of(queue: Queue[Any], handler: Callable[..., Any]) -> str:
    """The error of the first attempt; nothing may be kept."""
    queue.add("a", id="x")
    assert queue.run_due(handler) == 1
    assert not models.Step.objects.exists()
    job = queue.get("x")
    assert job is not None
    return str(job.error)


# Once


def test_a_finished_step_is_not_run_again_by_later_attempts(emails: Queue[Any]) -> None:
    ran: list[str] = []

    def handler(value: str, run: Run) -> object:
        answers = [run.step(name, lambda name=name: ran.append(name) or len(ran)) for name in "ab"]
        if run.attempt < 3:
            return run.retry("0s")
        return ran.append(str(answers))

    assert run_all(emails, handler) is None
    assert ran == ["a", "b", "[1, 2]"]
    assert not models.Step.objects.exists()


def test_a_step_that_raises_keeps_nothing_and_runs_again(emails: Queue[Any]) -> None:
    ran: list[int] = []

    def stumble() -> int:
        ran.append(len(ran))
        return 10 // (len(ran) - 1)

    def handler(value: str, run: Run) -> object:
        with suppress(ZeroDivisionError):
            return ran.append(run.step("divide", stumble))
        return run.retry("0s")

    run_all(emails, handler)

    assert ran == [0, 1, 10]


def test_none_is_an_answer(emails: Queue[Any]) -> None:
    ran: list[str] = []

    def handler(value: str, run: Run) -> object:
        assert run.step("note", lambda: ran.append("note")) is None
        return run.retry("0s") if run.attempt == 1 else None

    run_all(emails, handler)

    assert ran == ["note"]


def test_a_name_that_is_used_twice_in_one_run_is_one_step(emails: Queue[Any]) -> None:
    answers: list[str] = []

    def handler(value: str, run: Run) -> None:
        answers.extend(run.step("render", lambda one=one: one) for one in ("first", "second"))

    run_all(emails, handler)

    assert answers == ["first", "first"]


@pytest.mark.parametrize(
    ("of", "given", "answer"),
    [
        (Any, {"a": (1, 2)}, {"a": [1, 2]}),
        (Any, Reply("hi", date(2026, 3, 1)), {"text": "hi", "day": "2026-03-01", "tokens": 0}),
        (Reply, Reply("hi", date(2026, 3, 1), 7), Reply("hi", date(2026, 3, 1), 7)),
        (Reply, {"text": "hi", "day": "2026-03-01"}, Reply("hi", date(2026, 3, 1))),
        (list[Reply], [Reply("hi", date(2026, 3, 1))], [Reply("hi", date(2026, 3, 1))]),
        (Pair, Pair(1, UUID(int=7)), Pair(1, UUID(int=7))),
        (tuple[int, ...], [1, 2], (1, 2)),
        (bytes, b"\0\xff", b"\0\xff"),
    ],
)
def test_the_first_call_gives_what_the_later_ones_give(of: Any, given: Any, answer: Any, emails: Queue[Any]) -> None:
    answers: list[Any] = []

    def handler(value: str, run: Run) -> object:
        answers.append(run.step("ask", lambda: given, of=of))
        return run.retry("0s") if run.attempt == 1 else None

    run_all(emails, handler)

    assert answers == [answer, answer]
    assert type(answers[0]) is type(answer)


def test_one_statement_reads_all_of_a_jobs_steps_and_none_where_there_can_be_none(emails: Queue[Any]) -> None:
    read: list[list[str]] = []

    def handler(value: str, run: Run) -> object:
        with CaptureQueriesContext(connection) as queries:
            for number in range(5):
                run.step(f"step {number}", lambda: 1)
        read.append(
            [query["sql"] for query in queries if re.match('SELECT.*FROM "tinystore_django_step"', query["sql"])]
        )
        return run.retry("0s") if run.attempt == 1 else None

    run_all(emails, handler)

    assert [len(statements) for statements in read] == [0, 1]


# In transactions


@pytest.mark.parametrize("first", [1, 2], ids=["in the first attempt", "in the second"])
@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("atomic", [True, False])
def test_a_step_that_was_rolled_back_runs_again(first: int, calls: int, atomic: bool, emails: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> object:
        if run.attempt < first:
            return run.retry("0s")
        with suppress(Undone), transaction.atomic():
            for _ in range(calls):
                run.step("mark", mark, atomic=atomic)
            raise Undone
        return run.step("mark", mark, atomic=atomic)

    run_all(emails, handler)

    assert Mark.objects.count() == 1


def test_a_step_inside_a_block_runs_once_where_the_block_commits(emails: Queue[Any]) -> None:
    answers: list[int] = []

    def handler(value: str, run: Run) -> None:
        with transaction.atomic():
            answers.extend(run.step("mark", mark) for _ in range(2))
        answers.append(run.step("mark", mark))

    run_all(emails, handler)

    assert answers == [Mark.objects.get().pk] * 3


@pytest.mark.parametrize("atomic", [False, True], ids=["its own block", "an atomic handler"])
def test_a_step_of_a_handler_whose_transaction_rolls_back_runs_again_with_its_rows(
    atomic: bool, emails: Queue[Any]
) -> None:
    kept: list[tuple[int, int]] = []

    @emails.handler(atomic=atomic)
    def handler(value: str, run: Run) -> None:
        kept.append((Mark.objects.count(), models.Step.objects.count()))
        with transaction.atomic():
            run.step("mark", mark)
            if run.attempt == 1:
                raise Undone

    emails.add("a", id="x", at=datetime(2020, 1, 1, tzinfo=UTC))
    emails.run_due()
    models.Job.objects.update(at=0)
    emails.run_due()

    assert (kept, Mark.objects.count(), emails.get("x")) == ([(0, 0), (0, 0)], 1, None)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_atomic_steps_rows_go_when_its_answer_cannot_be_kept(is_async: bool, emails: Queue[Any]) -> None:
    def unkept() -> object:
        mark()
        return object()

    def handler(value: str, run: Run) -> None:
        run.step("mark", unkept, atomic=True)

    async def ahandler(value: str, run: Run) -> None:
        await run.step("mark", unkept, atomic=True)

    assert error_of(emails, ahandler if is_async else handler).startswith("the answer of step 'mark'")
    assert Mark.objects.count() == 0


# Refused


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", "step name '': write 1 to 256 bytes of UTF-8"),
        ("é" * 128 + "a", "write 1 to 256 bytes of UTF-8"),
        ("a\0", "take out U+0000"),
        ("\ud800", "take out the lone surrogate U+D800"),
        (7, "step name 7: write it as text"),
    ],
)
def test_a_name_that_cannot_be_is_refused(name: Any, error: str, emails: Queue[Any]) -> None:
    ran: list[str] = []

    assert error in error_of(emails, lambda value, run: run.step(name, lambda: ran.append("ran")))
    assert ran == []


def test_a_name_of_256_bytes_and_an_answer_of_a_mebibyte_are_kept(emails: Queue[Any]) -> None:
    answers: list[str] = []

    def handler(value: str, run: Run) -> object:
        answers.append(run.step("é" * 128, lambda: "a" * (MIB - 2)))
        return run.retry("0s") if run.attempt == 1 else None

    run_all(emails, handler)

    assert [len(answer) for answer in answers] == [MIB - 2] * 2


@pytest.mark.parametrize(
    ("answer", "of", "error"),
    [
        (object(), Any, "the answer of step 'ask'"),
        (float("nan"), Any, "the answer of step 'ask'"),
        ("a\0", Any, "the answer of step 'ask': take out U+0000"),
        ({"p": "\ud800"}, Any, "the answer of step 'ask'"),
        ("a" * (MIB - 1), Any, "the answer of step 'ask': 1,048,577 bytes of JSON; at most 1,048,576 can be kept"),
        ({"text": 7}, Reply, "the answer of step 'ask' does not read as <class 'tests.test_steps.Reply'>: value.text"),
        (7, object(), "type "),
    ],
    ids=["object", "nan", "nul", "surrogate", "long", "another type", "no type"],
)
def test_an_answer_that_cannot_be_kept_is_refused_in_the_handler(
    answer: Any, of: Any, error: str, emails: Queue[Any]
) -> None:
    assert error_of(emails, lambda value, run: run.step("ask", lambda: answer, of=of)).startswith(error)


def test_a_type_that_cannot_be_kept_is_refused_before_its_step_runs(emails: Queue[Any]) -> None:
    ran: list[str] = []

    error_of(emails, lambda value, run: run.step("ask", lambda: ran.append("ran"), of=threading.Lock))

    assert ran == []


def test_a_kept_answer_that_no_longer_reads_says_which(emails: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> object:
        if run.attempt == 1:
            run.step("ask", lambda: {"text": 7})
            return run.retry("0s")
        return run.step("ask", lambda: {"text": 7}, of=Reply)

    error = run_all(emails, handler).error

    assert error.startswith(
        "the kept answer of step 'ask' no longer reads as <class 'tests.test_steps.Reply'>: value.te"
    )


def test_a_step_that_cannot_be_called_is_refused_with_what_to_give(emails: Queue[Any]) -> None:
    error = error_of(emails, lambda value, run: run.step("render", 5))

    assert error == "step function 5: give a function without arguments, such as a lambda"


async def ask(answer: int = 7) -> int:
    return answer


class Asks:
    async def __call__(self) -> int:
        return 7


ASYNC = [ask, partial(ask), Asks(), lambda: ask(7)]
ASYNC_IDS = ["function", "partial", "object", "lambda"]


@pytest.mark.parametrize("fn", ASYNC, ids=ASYNC_IDS)
def test_an_async_function_in_a_sync_handler_is_refused(fn: Any, emails: Queue[Any]) -> None:
    error = error_of(emails, lambda value, run: run.step("ask", fn))

    assert error == "step 'ask': nobody awaits its fn in a sync handler: give a sync one"


@pytest.mark.parametrize("fn", ASYNC, ids=ASYNC_IDS)
def test_an_atomic_step_of_an_async_handler_takes_no_async_function(fn: Any, emails: Queue[Any]) -> None:
    async def handler(value: str, run: Run) -> None:
        await run.step("ask", fn, atomic=True)

    error = error_of(emails, handler)

    assert error == "step 'ask': Django's transactions are not async, atomic=True needs a sync fn"


def test_a_step_within_itself_is_refused(emails: Queue[Any]) -> None:
    error = error_of(emails, lambda value, run: run.step("a", lambda: run.step("a", int)))

    assert error == "step 'a' is at work already: give each step of the job a name of its own"


def test_a_step_whose_keep_was_not_answered_goes_with_its_job(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = stepping.keep

    def unanswered(*about: Any) -> None:
        real(*about)
        raise Error("the connection is lost")

    monkeypatch.setattr(stepping, "keep", unanswered)
    kept: list[int] = []

    def handler(value: str, run: Run) -> None:
        with suppress(Error):
            run.step("mark", mark)
        kept.append(models.Step.objects.count())

    assert run_all(emails, handler) is None
    assert (kept, models.Step.objects.count()) == ([1], 0)


# In async handlers


@pytest.mark.parametrize("fn", [*ASYNC, lambda: 7], ids=[*ASYNC_IDS, "sync"])
def test_an_async_handler_takes_a_function_sync_or_async(fn: Any, emails: Queue[Any]) -> None:
    answers: list[int] = []

    async def handler(value: str, run: Run) -> object:
        answers.append(await run.step("ask", fn))
        return run.retry("0s") if run.attempt == 1 else None

    run_all(emails, handler)

    assert answers == [7, 7]


def test_steps_of_an_async_handler_may_run_at_once(emails: Queue[Any]) -> None:
    ran: list[int] = []
    answers: list[list[int]] = []

    async def handler(value: str, run: Run) -> object:
        together = asyncio.Barrier(3)

        async def one(number: int) -> int:
            await together.wait()  # none could pass alone
            ran.append(number)
            return number

        answers.append(list(await asyncio.gather(*(run.step(f"s{n}", partial(one, n)) for n in range(3)))))
        return run.retry("0s") if run.attempt == 1 else None

    run_all(emails, handler)

    assert (sorted(ran), answers) == ([0, 1, 2], [[0, 1, 2]] * 2)


def test_one_name_at_once_with_itself_is_refused(emails: Queue[Any]) -> None:
    async def handler(value: str, run: Run) -> None:
        await asyncio.gather(*(run.step("ask", ask) for _ in range(2)))

    emails.add("a", id="x")
    emails.run_due(handler)

    job = emails.get("x")
    assert job is not None
    assert job.error == "step 'ask' is at work already: give each step of the job a name of its own"


def test_a_step_that_outlives_its_handler_keeps_nothing(emails: Queue[Any]) -> None:
    errors: list[str] = []
    go_on, ended = threading.Event(), threading.Event()

    def handler(value: str, run: Run) -> None:
        def late() -> None:
            try:
                run.step("late", lambda: go_on.wait(10))
            except Exception as error:
                errors.append(str(error))
            connection.close()
            ended.set()

        threading.Thread(target=late).start()

    emails.add("a", id="x")
    emails.run_due(handler)
    go_on.set()

    assert ended.wait(10)
    assert errors == ["the run has ended: its handler did not wait for this"]
    assert not models.Step.objects.exists()
