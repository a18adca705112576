"""One run: its value is read, its handler called, and what comes back turned into how the run ended."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction
from django.dispatch import Signal

from ..databases import database
from ..databases.rows import Held
from ..errors import CorruptError, RunStopped
from ..registry import Declaration, Handler
from ..runs import Control, Outcome, Run, current
from ..signals import job_settled, job_started
from ..store.aftermath import Ending
from ..store.settling import Finished, settle_alone
from ..values import clean, error_text
from .watch import watch

logger = logging.getLogger("tinystore_django")

# A kept traceback's longest, in characters: its two ends say most.
LONGEST_TRACEBACK = 40_000


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A held job with what its run needs."""

    declaration: Declaration
    control: Control

    @property
    def held(self) -> Held:
        return self.control.held

    @property
    def handler(self) -> Handler:
        assert self.declaration.handler is not None
        return self.declaration.handler

    @property
    def timeout(self) -> int:
        return self.declaration.options.timeout

    @property
    def spent(self) -> bool:
        """Whether its attempts were used up before this claim, so that it must not run."""
        return self.held.attempt > self.declaration.options.attempts

    def arguments(self) -> list[Any]:
        """What the handler is called with. Raises CorruptError for a value that no longer reads."""
        value = [] if self.declaration.repeat else [self.declaration.codec.read(self.held.value)]
        return [*value, Run(self.control)] if self.handler.takes_run else value

    def finished(self, ending: Ending) -> Finished:
        return Finished(self.held, ending, self.declaration.options, self.control.kept_steps)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended; `outcome` is set where its handler's own transaction has settled it."""

    task: Task
    ending: Ending
    seconds: float
    outcome: str | None = None


def new_task(held: Held, declaration: Declaration) -> Task:
    assert declaration.handler is not None
    handler = declaration.handler
    return Task(declaration, Control(declaration.alias, held, handler.is_async, handler.atomic))


def perform(task: Task) -> Ended:
    """Runs a task in this thread, an async handler on an event loop of its own."""
    if task.handler.is_async:
        return async_to_sync(aperform)(task)
    began = time.monotonic()
    if task.spent:
        return Ended(task, Ending("spent"), 0.0)
    _announce(job_started, task, attempt=task.held.attempt)
    with watch.over(task.control, task.timeout):
        ending, outcome = _perform_atomic(task) if task.handler.atomic else (_call(task), None)
    return Ended(task, ending, time.monotonic() - began, outcome)


async def aperform(task: Task) -> Ended:
    """Runs an async handler's task on this event loop."""
    began = time.monotonic()
    if task.spent:
        return Ended(task, Ending("spent"), 0.0)
    if job_started.has_listeners(task.held.queue):
        about = {"id": task.held.key, "attempt": task.held.attempt}
        log_raised(await job_started.asend_robust(sender=task.held.queue, **about))
    with watch.over(task.control, task.timeout):
        ending = await _acall(task)
    return Ended(task, ending, time.monotonic() - began)


def announce_settled(task: Task, ending: Ending, outcome: str) -> None:
    """Sends job_settled to its receivers."""
    error = None if outcome in ("done", "snoozed", "given back", "cancelled") else ending.error
    _announce(job_settled, task, attempt=task.held.attempt, outcome=outcome, error=error)


def _call(task: Task) -> Ending:
    try:
        arguments = task.arguments()
    except CorruptError as error:
        return _unreadable(error)
    try:
        with _current(task.control):
            return _answered(task.handler.fn(*arguments), task.control)
    except BaseException as error:  # SystemExit included: it costs the attempt, and never the worker
        return raised(error, task)


async def _acall(task: Task) -> Ending:
    try:
        arguments = task.arguments()
    except CorruptError as error:
        return _unreadable(error)
    this = asyncio.current_task()
    assert this is not None
    task.control.on_stop = partial(_cancel, asyncio.get_running_loop(), this)
    try:
        with _current(task.control):
            return _answered(await task.handler.fn(*arguments), task.control)
    except BaseException as error:
        return raised(error, task)


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with suppress(RuntimeError):  # the loop has closed: the task has ended
        loop.call_soon_threadsafe(task.cancel)


def _perform_atomic(task: Task) -> tuple[Ending, str | None]:
    """Runs the handler and settles its job in one transaction: its outcome, or None where that was rolled back."""
    alias = task.declaration.alias
    store = database(alias)
    committed: list[bool] = []
    try:
        # On SQLite the write lock is taken first: a handler that reads before it writes would else fail at its settle.
        with transaction.atomic(using=alias) if store.in_transaction() else store.transaction():
            # The first callback of the commit: should a later one raise, the rows are there all the same.
            transaction.on_commit(partial(committed.append, True), using=alias)
            ending = _call(task)
            outcome = None if ending.raised else settle_alone(alias, task.finished(ending))
            if outcome is None or outcome == "cancelled":
                raise _RolledBack(ending)
    except _RolledBack as rolled_back:
        return rolled_back.ending, None
    except BaseException as error:
        if not committed:
            return raised(error, task), None
        logger.exception("an on_commit callback raised after %s had committed", task.control)
    return ending, outcome


class _RolledBack(Exception):
    def __init__(self, ending: Ending) -> None:
        self.ending = ending


@contextmanager
def _current(run: Control) -> Iterator[None]:
    token = current.set(run)
    try:
        yield
    finally:
        current.reset(token)


def _answered(answer: object, run: Control) -> Ending:
    """What a handler's return value says."""
    if isinstance(answer, Outcome) and answer.made_by is not run:
        return _refused("its handler returned the answer of another run")
    if any(made is not answer for made in run.answers):
        return _refused("its handler made an answer and did not return it: write `return run.retry()`")
    if isinstance(answer, Outcome):
        return answer.ending
    if inspect.iscoroutine(answer):
        answer.close()  # or Python would warn that nobody awaited it
        return _refused("its handler returned a coroutine, which nobody awaits: write `async def`")
    if inspect.isgenerator(answer) or inspect.isasyncgen(answer) or inspect.isawaitable(answer):
        return _refused(f"its handler returned a {type(answer).__name__}, whose work is not done: return no `yield`")
    return Ending("done")


def _refused(error: str) -> Ending:
    return Ending("retry", error, raised=True)


def _unreadable(error: CorruptError) -> Ending:
    return Ending("failed", error_text(f"its value no longer reads: {error}"), raised=True)


def raised(error: BaseException, task: Task) -> Ending:
    """What an exception out of a handler says: a failed attempt."""
    if task.control.why == "timeout" and isinstance(error, (asyncio.CancelledError, RunStopped)):
        text = f"the run passed its timeout of {task.timeout / 1e6:.6f}".rstrip("0").rstrip(".") + " s"
    else:
        text = error_text(error)
    return Ending("retry", text, _traceback(error), raised=True)


def _traceback(error: BaseException) -> str:
    text = clean("".join(traceback.format_exception(error)))
    if len(text) <= LONGEST_TRACEBACK:
        return text
    half = LONGEST_TRACEBACK // 2
    return f"{text[:half]}\n…\n{text[-half:]}"


def _announce(signal: Signal, task: Task, **about: Any) -> None:
    if signal.has_listeners(task.held.queue):
        log_raised(signal.send_robust(sender=task.held.queue, id=task.held.key, **about))


def log_raised(responses: list[tuple[Any, Any]]) -> None:
    """Logs the receivers of a signal that raised."""
    for receiver, answer in responses:
        if isinstance(answer, Exception):
            logger.error("receiver %s raised", receiver, exc_info=answer)
