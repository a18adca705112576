"""The event loop that async handlers share: one thread, started by the first of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context

from asgiref.sync import sync_to_async

from ..log import logger
from .connections import Care, close_all
from .contexts import beginning
from .execution import Ended, Task, aperform, broken

# Seconds that what is left at the loop's end has to answer its cancelling.
FAREWELL = 1.0
# Seconds after which a run looks again at the connections of Django's thread for sync code, which all runs share.
LOOK = 0.1


class Coroutines:
    """Runs the tasks of async handlers."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context = Context()  # that each run gets a copy of
        self._tasks: set[asyncio.Task[None]] = set()
        self._given: deque[tuple[Task, Callable[[Ended], object]]] = deque()
        self._called = False  # whether the loop was told of those given: it is woken once for many
        self._looks_at = 0.0
        self._care: Care | None = None  # of Django's thread for sync code, since the first look at it

    def start(self, task: Task, on_ended: Callable[[Ended], object]) -> None:
        """Runs a task, and calls back from the loop's thread.

        Raises:
            RuntimeError, OSError: there is no loop yet, and the system gives no thread or no file for one.
        """
        loop = self._loop or self._begun()
        self._given.append((task, on_ended))
        if not self._called:
            self._called = True
            loop.call_soon_threadsafe(self._begin)

    def _begun(self) -> asyncio.AbstractEventLoop:
        loop = self._loop = asyncio.new_event_loop()
        try:
            threading.Thread(target=self._run, args=[loop], name="tinystore-coroutines", daemon=True).start()
        except BaseException:
            self._loop = None
            loop.close()
            raise
        return loop

    def stop(self) -> None:
        """Ends the loop, and with it what is left of its tasks."""
        # First this, or the loop's thread might find it unchanged once it is stopped, and run it again for good.
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _begin(self) -> None:
        self._called = False
        loop = asyncio.get_running_loop()
        while self._given:
            # Past the loop's task factory, which may be one that a handler has left there. And the loop itself holds
            # its tasks only weakly.
            self._tasks.add(
                asyncio.Task(self._perform(*self._given.popleft()), loop=loop, context=self._context.copy())
            )

    async def _perform(self, task: Task, on_ended: Callable[[Ended], object]) -> None:
        try:
            ended = await self._ended(task)
            on_ended(ended)
            # After the answer: a late cancel then costs this look and no run.
            if ended.ending.raised or (self._is_alone() and self._has_open()):
                await self._mend()
        finally:
            self._tasks.discard(asyncio.current_task())

    async def _ended(self, task: Task) -> Ended:
        try:
            if time.monotonic() >= self._looks_at:
                await self._mend()
            return await aperform(task)
        except BaseException as error:  # not of the handler: but a run that never ended would keep its place for good
            return broken(task, error)

    async def _mend(self) -> None:
        """Between two calls of sync code that thread is in no transaction: what is dead or in one is closed.

        What merely grew old, or whose session was changed, may be used by another run, and goes once there is none.
        """
        self._looks_at = time.monotonic() + LOOK
        mending = asyncio.ensure_future(sync_to_async(self._mend_there, thread_sensitive=True)(self._is_alone()))
        # A thread that is busy is in use, and so alive: no run waits for what another does there.
        await asyncio.wait({mending}, timeout=LOOK)

    def _mend_there(self, idle: bool) -> None:
        self._care = self._care or Care(shared=True)
        self._care.mend(idle)
        self._care.watch()

    def _has_open(self) -> bool:
        """Whether that thread may have a connection: to go there costs more than a quick run, and most use none."""
        return self._care is None or self._care.has_open()

    def _is_alone(self) -> bool:
        return len(self._tasks) == 1

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        self._context = beginning()
        try:
            self._run_on(loop)
            loop.set_task_factory(None)
            loop.run_until_complete(_leave())
        finally:
            loop.close()
            close_all()

    def _run_on(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._loop is loop:
            try:
                loop.run_forever()
            except BaseException:  # a task that a handler started let SystemExit out: the loop's other tasks go on
                logger.exception("a task of an async handler raised into the event loop")


async def _leave() -> None:
    """Cancels what is left of the tasks, and closes the connections of Django's thread for sync code."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    closing = asyncio.ensure_future(sync_to_async(close_all, thread_sensitive=True)())
    await asyncio.wait([*rest, closing], timeout=FAREWELL)
