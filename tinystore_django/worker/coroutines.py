"""The event loop that async handlers share: one thread, started by the first of them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from asgiref.sync import sync_to_async

from .connections import close_all, mend
from .execution import Ended, Task, aperform

logger = logging.getLogger("tinystore_django")

# Seconds without a run after which the connections of Django's thread for sync code are looked at again.
IDLE = 0.1


class Coroutines:
    """Runs the tasks of async handlers."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle_since = 0.0

    def start(self, task: Task, on_ended: Callable[[Ended], object]) -> None:
        """Runs a task, and calls back from the loop's thread."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._run, args=[self._loop], name="tinystore-coroutines", daemon=True).start()
        self._loop.call_soon_threadsafe(self._begin, task, on_ended)

    def stop(self) -> None:
        """Ends the loop, and with it what is left of its tasks."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _begin(self, task: Task, on_ended: Callable[[Ended], object]) -> None:
        running = asyncio.ensure_future(self._perform(task, on_ended))
        self._tasks.add(running)  # the loop itself holds its tasks only weakly
        running.add_done_callback(self._tasks.discard)

    async def _perform(self, task: Task, on_ended: Callable[[Ended], object]) -> None:
        if len(self._tasks) == 1 and time.monotonic() - self._idle_since > IDLE:
            await sync_to_async(mend, thread_sensitive=True)()
        on_ended(await aperform(task))
        self._idle_since = time.monotonic()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            self._run_on(loop)
        finally:
            close_all()

    def _run_on(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._loop is loop:
            try:
                loop.run_forever()
            except BaseException:  # a task that a handler started let SystemExit out: the loop's other tasks go on
                logger.exception("a task of an async handler raised into the event loop")
