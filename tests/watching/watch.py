"""Watching in a test: what a thread or coroutine is shown, and what is left of it afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from django.db import connection, connections

from tests.programs import wait_for
from tinystore_django import Job, Queue
from tinystore_django.watching.hub import _hubs

T = TypeVar("T")


class Seen(threading.Thread):
    """A thread that watches one job to its end."""

    def __init__(self, queue: Queue[Any], id: str = "x", **about: Any) -> None:
        super().__init__(daemon=True)
        self.jobs: list[Job[Any]] = []
        self._queue, self._id, self._about = queue, id, about
        self.start()
        wait_for(lambda: self.jobs or not self.is_alive())

    @property
    def states(self) -> list[str]:
        return states(self.jobs)

    def run(self) -> None:
        try:
            for job in self._queue.watch(self._id, **self._about):
                self.jobs.append(job)
        finally:
            connections.close_all()

    def end(self) -> list[str]:
        """Waits for the watch's end; the states it was shown."""
        wait_for(lambda: not self.is_alive(), what=lambda: self.jobs)
        return self.states


def states(jobs: Iterable[Job[Any]]) -> list[str]:
    return [job.state for job in jobs]


def nobody_watches() -> bool:
    """Whether nothing of any watch is left: no thread, and so none of its connections."""
    return not _hubs and not [one for one in threading.enumerate() if one.name == "tinystore-watching"]


def sessions() -> int:
    """How many connections there are to this PostgreSQL database, beside this thread's own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def cut(pid: int) -> None:
    """Ends a connection of the server's, as an administrator would."""
    with suppress(Exception), connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(%s)", [pid])


async def in_thread(call: Callable[[], T]) -> T:
    """Calls it in a thread, on connections that are closed afterwards."""

    def called() -> T:
        try:
            return call()
        finally:
            connections.close_all()

    return await asyncio.to_thread(called)
