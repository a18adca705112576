"""Every run ends, whatever happens between its claim and its settle: its place is free for the next job."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections

from tests.programs import wait_for
from tinystore_django import Queue, Store
from tinystore_django.signals import job_started
from tinystore_django.worker import watch as watching
from tinystore_django.worker.connections import Care

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]

Act = Callable[[], object]
NO_MORE = "can't start new thread"


@pytest.fixture
def emails(shop: Store) -> Queue[str]:
    return shop.queue("emails", str, attempts=1, dedupe="1h")


@pytest.fixture(params=["sync", "async"])
def handler(request: pytest.FixtureRequest) -> Callable[[Act], Callable[[str], Any]]:
    """A handler, sync or async, that does this for the job "bad" alone."""

    def made(act: Act) -> Callable[[str], Any]:
        def handle(value: str) -> None:
            if value == "bad":
                act()

        async def ahandle(value: str) -> None:
            handle(value)

        return handle if request.param == "sync" else ahandle

    return made


def states(queue: Queue[str], handle: Any) -> tuple[str, str, str | None]:
    """How the job "bad" ends in a worker, and the one after it; and the error of the first."""
    for value in ("bad", "next"):
        queue.add(value, id=value)
    with queue.work(handle, concurrency=1) as worker:
        wait_for(lambda: worker.settled == 2)
    bad, after = queue.get("bad"), queue.get("next")
    assert bad is not None
    assert after is not None
    return bad.state, after.state, bad.error


def throw(error: BaseException) -> Act:
    def thrower() -> None:
        raise error

    return thrower


class Shy:
    def __dir__(self) -> Any:
        raise RuntimeError("no names for you")


ODD = [
    throw(SyntaxError("line 3: bad", ("template.txt", 3, 1, b"the line as bytes"))),
    lambda: Shy().name,  # type: ignore[attr-defined]
]


@pytest.mark.parametrize("act", ODD, ids=["SyntaxError", "__dir__"])
def test_an_exception_that_python_cannot_format_is_a_failed_attempt(act: Act, handler: Any, emails: Any) -> None:
    bad, after, error = states(emails, handler(act))

    assert (bad, after) == ("failed", "done")
    assert "bad" in (error or "") or "name" in (error or "")


def test_a_handler_that_takes_away_the_excepthook_leaves_the_others_their_threads(
    handler: Any, emails: Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # to be put back

    def take_away() -> None:
        threading.excepthook = None  # type: ignore[assignment]

    emails.add_many(["x"] * 20)
    queue, act = emails, handler(take_away)
    for value in ("bad", "next"):
        queue.add(value, id=value)
    with queue.work(act, concurrency=4) as worker:
        wait_for(lambda: worker.settled == 22)

    assert (queue.get("bad").state, queue.get("next").state) == ("done", "done")  # type: ignore[union-attr]


class Refuse(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise KeyError("tenant")


@pytest.fixture
def refused() -> Iterator[None]:
    """A filter of the project's that raises at each line, as one that asks for what is not there."""
    ours, refuse = logging.getLogger("tinystore_django"), Refuse()
    before = ours.level
    ours.setLevel(logging.INFO)
    ours.addFilter(refuse)
    yield
    ours.removeFilter(refuse)
    ours.setLevel(before)


@pytest.mark.usefixtures("refused")
def test_a_log_that_raises_holds_up_no_run(handler: Any, emails: Queue[str]) -> None:
    assert states(emails, handler(throw(ValueError("no luck")))) == ("failed", "done", "no luck")


def test_a_handler_that_closes_stderr_holds_up_no_run(
    handler: Any, emails: Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed:
        def write(self, text: str) -> int:
            raise ValueError("I/O operation on closed file")

        def flush(self) -> None:
            raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(sys, "stderr", sys.stderr)
    ours, console = logging.getLogger("tinystore_django"), logging.StreamHandler(Closed())  # type: ignore[arg-type]
    ours.addHandler(console)
    ours.setLevel(logging.INFO)

    def close() -> None:
        sys.stderr = Closed()

    try:
        assert states(emails, handler(close)) == ("done", "done", None)
    finally:
        ours.removeHandler(console)
        ours.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("refused")
def test_a_timeout_is_told_though_the_log_raises(emails: Queue[str], shop: Store) -> None:
    quick = shop.queue("quick", str, attempts=1, timeout="20ms", dedupe="1h")

    def wait(value: str, run: Any) -> None:
        wait_for(lambda: run.stopped)

    for _ in range(2):
        quick.add("a")
        with quick.work(wait) as worker:
            wait_for(lambda worker=worker: worker.settled == 1)
    assert watching.watch._thread is not None
    assert watching.watch._thread.is_alive()


@pytest.mark.parametrize("engine", ["no.such.backend", "tests.worker.test_execution_ends"])
def test_an_alias_that_cannot_be_used_is_in_nobodys_way(
    engine: str, handler: Any, emails: Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {**connections.databases["default"], "ENGINE": engine}
    with monkeypatch.context() as named:
        named.setitem(connections.databases, "legacy", broken)
        assert states(emails, handler(lambda: None)) == ("done", "done", None)
        emails.add("again")
        assert emails.run_due(handler(lambda: None)) == 1


def test_a_first_async_job_for_which_there_is_no_thread_costs_itself_alone(
    shop: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = threading.Thread.start, []

    def starts(thread: threading.Thread) -> None:
        if thread.name == "tinystore-coroutines" and not refused:
            refused.append(thread)
            raise RuntimeError(NO_MORE)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)

    async def ahandle(value: str) -> None: ...

    queue = shop.queue("emails", str, attempts=1, dedupe="1h")

    bad, after, error = states(queue, ahandle)
    assert (bad, after, error) == ("failed", "done", NO_MORE)


def test_without_a_file_for_the_event_loop_an_async_job_is_a_failed_attempt(
    emails: Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new, refused = asyncio.new_event_loop, []

    def refuse() -> asyncio.AbstractEventLoop:
        if not refused:
            refused.append(1)
            raise OSError(24, "Too many open files")
        return new()

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)

    async def ahandle(value: str) -> None: ...

    bad, after, error = states(emails, ahandle)
    assert (bad, after) == ("failed", "done")
    assert "Too many open files" in (error or "")


def test_a_task_factory_that_a_handler_leaves_behind_is_no_other_runs(emails: Queue[str]) -> None:
    async def ahandle(value: str) -> None:
        if value == "bad":
            asyncio.get_running_loop().set_task_factory(lambda *arguments, **more: throw(ValueError("no task"))())

    assert states(emails, ahandle) == ("done", "done", None)


def test_a_run_that_went_well_is_done_though_its_connections_cannot_be_put_in_order(
    emails: Queue[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leave = Care.__exit__
    broken: list[int] = []

    def breaks(care: Care, *error: object) -> None:
        leave(care, *error)
        if not broken:
            broken.append(1)
            raise RuntimeError("a backend of somebody's")

    monkeypatch.setattr(Care, "__exit__", breaks)

    assert states(emails, lambda value: None) == ("done", "done", None)
    assert "could not be put in order" in caplog.text


def test_one_connection_that_cannot_be_put_in_order_is_replaced(emails: Queue[str]) -> None:
    before = []

    def break_it(value: str) -> None:
        if value == "bad":
            before.append(connections["default"])
            connection.ensure_connection()
            connections["default"].get_autocommit = throw(RuntimeError("a bug"))  # type: ignore[method-assign]
        else:
            before.append(connections["default"])

    assert states(emails, break_it) == ("done", "done", None)
    assert before[0] is not before[1]


def test_a_receiver_and_a_log_that_raise_cost_no_attempt(
    handler: Any, emails: Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**about: Any) -> None:
        raise ValueError("a broken receiver")

    def refuse(*arguments: Any, **more: Any) -> None:
        raise KeyError("tenant")

    monkeypatch.setattr(logging.getLogger("django.dispatch"), "error", refuse)
    job_started.connect(broken, sender="emails")
    try:
        assert states(emails, handler(lambda: None)) == ("done", "done", None)
    finally:
        job_started.disconnect(broken, sender="emails")
