"""Handlers that raise what they should not: it costs them their attempt, and never the worker."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from tests.programs import wait_for, worker
from tests.project.jobs import marks
from tests.project.jobs_connections import RAISES, async_raises, raises
from tests.project.models import Mark
from tests.races.helpers import marked
from tinystore_django import InvalidError, Queue, Run, Store
from tinystore_django.models import Job

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = {
    "SystemExit": "3",
    "KeyboardInterrupt": "KeyboardInterrupt",
    "GeneratorExit": "GeneratorExit",
    "MemoryError": "MemoryError",
    "CancelledError": "CancelledError",
    "OddError": "OddError",
    "BrokenError": "BrokenError",
    "ExitingError": "ExitingError",
    "StopIteration": "StopIteration",
    "pool": "from a pool",
}
ASYNC_TEXTS = {**TEXTS, "StopIteration": "coroutine raised StopIteration"}
DEEP = "maximum recursion depth exceeded"


@pytest.mark.slow
@pytest.mark.parametrize(("queue", "texts"), [(raises, TEXTS), (async_raises, ASYNC_TEXTS)], ids=["sync", "async"])
def test_whatever_a_handler_raises_is_a_failed_attempt_and_the_worker_goes_on(
    queue: Queue[str], texts: dict[str, str]
) -> None:
    for kind in RAISES:
        queue.add(kind, id=kind)

    with worker(queue.name, "marks") as one:
        wait_for(lambda: Job.objects.filter(state=Job.State.FAILED).count() == len(RAISES))
        marks.add("after")
        wait_for(lambda: Mark.objects.filter(name="after").exists())
        assert one.code is None
        one.send(signal.SIGINT)
        assert one.wait() == 0

    assert marked() == {**{(kind, attempt): 1 for kind in RAISES for attempt in (1, 2)}, ("after", 1): 1}
    errors = dict(Job.objects.values_list("key", "error"))
    assert errors.pop("RecursionError").startswith(DEEP)
    assert errors == texts


def test_a_traceback_is_kept_even_of_an_exception_that_cannot_be_written() -> None:
    queue = Store().queue("unwritable", attempts=1)

    class MuteError(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    def fail(value: object) -> None:
        raise MuteError

    queue.add(1, id="a")
    assert queue.run_due(fail) == 1

    row = Job.objects.get(key="a")
    assert row.error == "MuteError"
    assert "raise MuteError" in row.traceback


async def _raise_system_exit() -> None:
    sys.exit("of a child")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_child_task_that_exits_costs_its_own_handler_the_attempt_and_no_other() -> None:
    queue = Store().queue("parents", str, attempts=1, concurrency=2, dedupe="1h")

    async def be_parent(kind: str) -> None:
        if kind == "plain":
            await asyncio.sleep(0.3)
        else:
            await asyncio.create_task(_raise_system_exit())

    queue.add("plain", id="plain")
    queue.add("exiting", id="exiting")
    with queue.work(be_parent):
        wait_for(lambda: {job.state for job in _both(queue)} == {"done", "failed"})

    plain, exiting = _both(queue)
    assert (plain.state, exiting.state, exiting.error) == ("done", "failed", "of a child")


def _both(queue: Queue[str]) -> list:
    return [queue.get(id) for id in ("plain", "exiting")]


def test_a_child_task_left_behind_that_exits_leaves_the_loop_to_the_others() -> None:
    queue = Store().queue("leavers", str, attempts=1, concurrency=1, dedupe="1h")
    left = set()

    async def leave_behind(kind: str) -> None:
        left.add(asyncio.get_running_loop().create_task(_raise_system_exit()))

    for id in ("first", "second"):
        queue.add("", id=id)
    with queue.work(leave_behind):
        wait_for(lambda: all(queue.get(id).state == "done" for id in ("first", "second")))

    assert all(isinstance(task.exception(), SystemExit) for task in left)


def no_value() -> None: ...
def too_many(value: object, run: Run, more: object) -> None: ...
async def no_value_async() -> None: ...


@pytest.mark.parametrize("handler", [no_value, too_many, no_value_async])
def test_a_handler_that_cannot_be_called_so_is_refused_and_its_job_left_alone(handler) -> None:
    queue = Store().queue("misfits", attempts=1)
    queue.add(1, id="a")

    with pytest.raises(InvalidError, match=handler.__name__):
        queue.run_due(handler)

    job = queue.get("a")
    assert (job.state, job.attempt) == ("waiting", 0)
