"""Threads for sync handlers: started when they are needed, kept for the next run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from .connections import close_all


class Pool:
    """Runs calls in threads. It never refuses one: how many run at once is its user's to say."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0

    def start(self, call: Callable[[], object]) -> None:
        """Runs a call, which raises nothing, in an idle thread or a new one."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                # Daemons: Python cannot end a thread, and a handler that never returns must not keep the process.
                threading.Thread(target=self._run, name=f"tinystore-run-{self._threads}", daemon=True).start()
        self._calls.put(call)

    def stop(self) -> None:
        """Lets each thread end once it is idle."""
        with self._lock:
            threads, self._threads = self._threads, 0
        for _ in range(threads):
            self._calls.put(None)

    def _run(self) -> None:
        try:
            while (call := self._calls.get()) is not None:
                call()
                with self._lock:
                    self._idle += 1
        finally:
            close_all()
