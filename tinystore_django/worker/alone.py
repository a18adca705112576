"""What `run_due` does by itself for its runs where no other thread sees what it does: no upkeep could."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import partial

from asgiref.sync import async_to_sync, sync_to_async
from django.db import Error

from ..control import Control
from ..databases.rows import Fence
from ..lifecycle import leasing
from .execution import Ended, Task, aperform, perform
from .hold import Hold
from .patience import Patience

# Seconds between two looks whether an async handler's job was cancelled. A sync one looks when it asks.
LOOK = 0.1


class Alone:
    """The calling thread and its connection."""

    def __init__(self, hold: Hold, patience: Patience) -> None:
        self._hold = hold
        self._patience = patience
        self._thread = threading.get_ident()
        self._writing: set[asyncio.Future[None]] = set()  # a loop holds them only weakly

    def write_progress(self) -> None:
        """Writes what a handler has just reported."""
        if not _in_event_loop():
            self._write()
            return
        # An async handler: its queries go through the calling thread, as soon as it waits for something.
        writing = asyncio.ensure_future(sync_to_async(self._write)())
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    def perform(self, task: Task) -> Ended:
        """Runs a task, whose handler is told when its job is cancelled."""
        task.control.asks = partial(self._is_cancelled, task.held.fence)
        return async_to_sync(self._aperform)(task) if task.handler.is_async else perform(task)

    async def _aperform(self, task: Task) -> Ended:
        looking = asyncio.ensure_future(_tell_of_cancel(task.control))
        try:
            return await aperform(task)
        finally:
            looking.cancel()

    def _is_cancelled(self, fence: Fence) -> bool:
        if threading.get_ident() != self._thread:
            return False
        with suppress(Error):  # a transaction that the handler has broken, it finds out by itself
            return bool(leasing.cancelled(self._hold.alias, [fence]))
        return False

    def _write(self) -> None:
        try:
            self._hold.write_progress()
        except Error as error:  # it costs the handler nothing: a transaction it has broken, it finds out by itself
            self._patience.lost(error)


async def _tell_of_cancel(control: Control) -> None:
    while True:
        await asyncio.sleep(LOOK)
        if await sync_to_async(control.stopped)() == "cancelled":
            control.stop("cancelled")
            return


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
