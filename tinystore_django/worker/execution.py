"""One run: its value is read, its handler called, and what comes back turned into how the run ended."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync
from django.db import transaction

from ..control import Control, current
from ..databases import database
from ..databases.rows import Held
from ..errors import CorruptError
from ..handlers import Handler
from ..lifecycle import flaws
from ..lifecycle.aftermath import Ending
from ..lifecycle.refused import settle_alone
from ..lifecycle.settling import Finished
from ..log import logger
from ..registry import Declaration
from ..runs import Run
from . import announcing
from .connections import Care
from .endings import answered, raised, unreadable
from .forking import OneProcess
from .watch import watch


@dataclass(slots=True, eq=False)
class Task:
    """A held job with what its run needs."""

    held: Held
    control: Control
    declaration: Declaration
    handler: Handler

    @property
    def timeout(self) -> int:
        return self.declaration.options.timeout

    @property
    def refused(self) -> Ending | None:
        """How it ends without being run: its row is damaged, or its attempts were used up before this claim."""
        if why := flaws.flaw(self.held):
            return Ending("failed", flaws.tell(self.control, why), raised=True)
        return Ending("spent", "no attempt was left") if self.held.attempt > self.declaration.options.attempts else None

    def arguments(self) -> list[Any]:
        """What the handler is called with. Raises CorruptError for a value that no longer reads."""
        value = [] if self.declaration.repeat else [self.declaration.codec.read(self.held.value)]
        return [*value, Run(self.control)] if self.handler.takes_run else value

    def raised(self, error: BaseException) -> Ending:
        """How the run ends with an exception."""
        return raised(error, self.control, self.timeout)

    def finished(self, ending: Ending) -> Finished:
        control = self.control
        return Finished(self.held, ending, self.declaration.options, control.kept_steps, control.progress is not None)


class Ended(NamedTuple):
    """A run that has ended; `outcome` is set where its handler's own transaction has settled it."""

    task: Task
    ending: Ending
    seconds: float
    outcome: str | None = None


def new_task(alias: str, held: Held, declaration: Declaration, on_progress: Callable[[], object]) -> Task:
    handler = declaration.handler
    assert handler is not None
    outer = current.get()
    control = Control(alias, held, handler.is_async, handler.atomic, on_progress=on_progress, outer=outer)
    return Task(held, control, declaration, handler)


def carry_out(task: Task, note: Callable[[Ended], object], care: Care) -> None:
    """Runs a task in a handlers' thread, and notes how it ended, whatever happens: a run that never ended would keep
    its place for good."""
    ended = None
    try:
        with care:
            ended = perform(task)
    except BaseException as error:  # not of the handler
        if ended is None:
            ended = broken(task, error)
        else:
            logger.error("after %s its thread's connections could not be put in order", task.control, exc_info=error)
    assert ended is not None
    note(ended)


def perform(task: Task) -> Ended:
    """Runs a task in this thread, an async handler on an event loop of its own."""
    if task.handler.is_async:
        return async_to_sync(aperform)(task)
    began = time.monotonic()
    if refused := task.refused:
        return Ended(task, refused, 0.0)
    announcing.started(task.held)
    try:
        watch.begin(task.control, task.timeout)
        ending, outcome = _perform_atomic(task) if task.handler.atomic else (_call(task), None)
    finally:
        watch.end(task.control)
    return Ended(task, ending, time.monotonic() - began, outcome)


async def aperform(task: Task) -> Ended:
    """Runs an async handler's task on this event loop."""
    began = time.monotonic()
    if refused := task.refused:
        return Ended(task, refused, 0.0)
    await announcing.astarted(task.held)
    try:
        watch.begin(task.control, task.timeout)
        ending = await _acall(task)
    finally:
        watch.end(task.control)
    return Ended(task, ending, time.monotonic() - began)


def broken(task: Task, error: BaseException) -> Ended:
    """A run whose surroundings raised, such as a receiver of job_started with SystemExit: a failed attempt."""
    return Ended(task, task.raised(error), time.monotonic() - task.control.began)


def _call(task: Task) -> Ending:
    try:
        arguments = task.arguments()
    except CorruptError as error:
        return unreadable(error)
    token = current.set(task.control)
    task.control.handled_outside = sys.exception()
    try:
        with OneProcess():
            answer = task.handler.fn(*arguments)
        return answered(answer, task.control)
    except BaseException as error:  # SystemExit included: it costs the attempt, and never the worker
        return task.raised(error)
    finally:
        task.control.end()
        current.reset(token)


async def _acall(task: Task) -> Ending:
    try:
        arguments = task.arguments()
    except CorruptError as error:
        return unreadable(error)
    this = asyncio.current_task()
    assert this is not None
    task.control.on_stop = partial(_cancel, asyncio.get_running_loop(), this)
    if task.control.why is not None:  # it was told before it could hear
        this.cancel()
    token = current.set(task.control)
    task.control.handled_outside = sys.exception()
    try:
        with OneProcess():
            answer = await task.handler.fn(*arguments)
        return answered(answer, task.control)
    except BaseException as error:
        return task.raised(error)
    finally:
        task.control.end()
        current.reset(token)


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with suppress(RuntimeError):  # the loop has closed: the task has ended
        loop.call_soon_threadsafe(task.cancel)


def _perform_atomic(task: Task) -> tuple[Ending, str | None]:
    """Runs the handler and settles its job in one transaction: its outcome, or None where that was rolled back."""
    alias = task.control.alias
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
            return task.raised(error), None
        logger.exception("an on_commit callback raised after %s had committed", task.control)
    return ending, outcome


class _RolledBack(Exception):
    def __init__(self, ending: Ending) -> None:
        self.ending = ending
