"""A run past its timeout: what its handler is told, and what becomes of its job."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.byhand import after_run, how
from tinystore_django import Queue, Run, RunStopped, Store

pytestmark = pytest.mark.django_db


@pytest.fixture
def quick(shop: Store) -> Queue[Any]:
    return shop.queue("quick", attempts=2, timeout="300ms")


def test_a_sync_handler_past_its_timeout_sees_that_it_is_stopped_and_its_answer_counts(
    quick: Queue[Any], caplog: pytest.LogCaptureFixture
) -> None:
    stopped: list[bool] = []

    def handler(value: str, run: Run) -> Any:
        stopped.append(run.stopped)
        wait_for(lambda: run.stopped)
        stopped.append(run.stopped)
        return run.fail("on purpose")

    job = after_run(quick, handler)

    assert stopped == [False, True]
    assert how(job) == ("failed", 1, "on purpose")
    assert caplog.text.count("quick id=x attempt=1 passed its timeout; its thread is at") == 1
    assert "wait_for" in caplog.text


def test_a_stop_let_out_is_a_failed_attempt_that_names_the_timeout(quick: Queue[Any]) -> None:
    def handler(value: str, run: Run) -> None:
        wait_for(lambda: run.stopped)
        raise RunStopped("as a step would")

    assert how(after_run(quick, handler)) == ("scheduled", 1, "the run passed its timeout of 0.3 s")


def test_an_async_handler_past_its_timeout_is_cancelled(quick: Queue[Any]) -> None:
    async def handler(value: str) -> None:
        await asyncio.sleep(60)

    assert how(after_run(quick, handler)) == ("scheduled", 1, "the run passed its timeout of 0.3 s")


def test_an_async_handler_that_catches_its_cancellation_may_answer(quick: Queue[Any]) -> None:
    async def handler(value: str, run: Run) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return run.fail(f"cleaned up, {run.stopped}")

    assert how(after_run(quick, handler)) == ("failed", 1, "cleaned up, True")


def wait_for(happened: Any) -> None:
    end = time.monotonic() + 20
    while not happened() and time.monotonic() < end:
        time.sleep(0.01)
    assert happened()
