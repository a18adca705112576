"""What handlers return: most of it is nothing to a queue, some of it is work that was never done."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.races.helpers import settled
from tinystore_django import Queue, Store
from tinystore_django.models import Job

pytestmark = pytest.mark.django_db

OPEN = Path(__file__).open  # never called here
ANSWERS: dict[str, Any] = {
    "one": 1,
    "none": None,
    "false": False,
    "lambda": lambda: None,
    "much": "x" * 10_000_000,
    "object": object(),
    "exception": ValueError("returned, not raised"),
    "state": "failed",
}


async def never_awaited() -> None:
    raise AssertionError("it ran")


def numbers() -> Iterator[int]:
    yield 1


async def numbers_async() -> AsyncIterator[int]:
    yield 1


@pytest.fixture
def kept() -> Queue[Any]:
    return Store().queue("answers", attempts=1, dedupe="1h")


def run(queue: Queue[Any], handler: Any) -> Any:
    queue.add(0, id="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert queue.run_due(handler) == 1
    return queue.get("a")


@pytest.mark.parametrize("kind", ANSWERS)
def test_whatever_a_handler_returns_its_job_is_done_and_nothing_of_it_is_stored(kept: Queue[Any], kind: str) -> None:
    def answer(value: int) -> Any:
        return ANSWERS[kind]

    job = run(kept, answer)

    assert (job.state, job.value, job.error) == ("done", 0, None)
    row = Job.objects.get(key="a")
    assert (row.value, row.error, row.traceback, row.progress) == ("0", None, None, None)


def test_an_async_handler_may_return_anything_as_well(kept: Queue[Any]) -> None:
    async def answer(value: int) -> object:
        return ANSWERS["lambda"]

    assert run(kept, answer).state == "done"


def test_an_open_file_may_be_returned(kept: Queue[Any]) -> None:
    files = []

    def answer(value: int) -> Any:
        files.append(OPEN())
        return files[0]

    job = run(kept, answer)
    files[0].close()

    assert job.state == "done"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (never_awaited, "its handler returned a coroutine, which nobody awaits: write `async def`"),
        (numbers, "its handler returned a generator, whose work is not done: wait for it, and write no `yield`"),
        (
            numbers_async,
            "its handler returned an async_generator, whose work is not done: wait for it, and write no `yield`",
        ),
    ],
)
def test_work_that_was_returned_and_not_done_is_a_failed_attempt(kept: Queue[Any], make: Any, said: str) -> None:
    job = run(kept, lambda value: make())

    assert (job.state, job.error) == ("failed", said)


def test_a_generator_function_is_no_handler_that_is_silently_done(kept: Queue[Any]) -> None:
    def generate(value: int) -> Iterator[int]:
        yield value

    assert run(kept, generate).state == "failed"


def test_an_async_generator_function_is_no_handler_that_is_silently_done(kept: Queue[Any]) -> None:
    async def generate(value: int) -> AsyncIterator[int]:
        yield value

    assert run(kept, generate).state == "failed"


def test_a_future_that_was_returned_is_a_failed_attempt(kept: Queue[Any]) -> None:
    loop = asyncio.new_event_loop()

    job = run(kept, lambda value: asyncio.Future(loop=loop))
    loop.close()

    assert (job.state, "Future" in job.error) == ("failed", True)


def test_an_async_callable_object_is_awaited(kept: Queue[Any]) -> None:
    seen = []

    class Sender:
        async def __call__(self, value: int) -> None:
            await asyncio.sleep(0)
            seen.append(value)

    assert run(kept, Sender()).state == "done"
    assert seen == [0]


def test_a_sync_function_that_wraps_an_async_one_is_told_to_be_async(kept: Queue[Any]) -> None:
    job = run(kept, lambda value: asyncio.sleep(0))

    assert (job.state, "write `async def`" in job.error) == ("failed", True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_a_worker_judges_what_its_handlers_return_alike() -> None:
    sync = Store().queue("sync-answers", str, attempts=1, dedupe="1h", concurrency=4)
    coroutines = Store().queue("async-answers", str, attempts=1, dedupe="1h", concurrency=4)

    def answer(kind: str) -> Any:
        return ANSWERS[kind] if kind in ANSWERS else never_awaited()

    async def answer_async(kind: str) -> Any:
        return answer(kind)

    kinds = [*ANSWERS, "coroutine"]
    for queue in (sync, coroutines):
        for kind in kinds:
            queue.add(kind, id=kind)
    with sync.work(answer), coroutines.work(answer_async):
        states = [[settled(queue, kind).state for kind in kinds] for queue in (sync, coroutines)]

    assert states == [[*["done"] * len(ANSWERS), "failed"]] * 2
