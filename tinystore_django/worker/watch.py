"""Tells runs that they have passed their timeout. One thread a process, started by the first run; no database."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..control import Control

logger = logging.getLogger("tinystore_django")


class Deadline(NamedTuple):
    at: float  # of time.monotonic()
    run: Control
    thread: int


class Watch:
    """The deadlines of the runs in progress."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._deadlines: dict[Control, Deadline] = {}
        self._looks_at = math.inf
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, run: Control, timeout: int) -> Iterator[None]:
        """Stops the run should the block last longer than `timeout` microseconds."""
        deadline = Deadline(time.monotonic() + timeout / 1e6, run, threading.get_ident())
        with self._lock:
            self._deadlines[run] = deadline
            self._awake(deadline.at)
        try:
            yield
        finally:
            self._deadlines.pop(run, None)

    def _awake(self, at: float) -> None:
        if self._thread is None or not self._thread.is_alive():  # not alive: the process has forked
            self._looks_at = at
            self._thread = threading.Thread(target=self._run, name="tinystore-watch", daemon=True)
            self._thread.start()
        elif at < self._looks_at:
            self._changed.notify()

    def _run(self) -> None:
        while True:
            for deadline in self._passed():
                if not deadline.run.is_async:
                    stack = _stack(deadline.thread)
                    logger.warning("%s passed its timeout; its thread is at\n%s", deadline.run, stack)
                deadline.run.stop("timeout")

    def _passed(self) -> list[Deadline]:
        with self._changed:
            while True:
                now = time.monotonic()
                deadlines = tuple(self._deadlines.values())  # a run that ends takes its own away meanwhile
                if passed := [one for one in deadlines if one.at <= now and self._deadlines.pop(one.run, None)]:
                    return passed
                self._looks_at = min((one.at for one in deadlines), default=math.inf)
                self._changed.wait(None if self._looks_at == math.inf else self._looks_at - now)


def _stack(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    return "".join(traceback.format_stack(frame)) if frame else "its end"


watch = Watch()
