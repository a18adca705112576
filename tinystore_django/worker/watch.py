"""Tells runs that they have passed their timeout. One thread a process, started by the first run; no database."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import traceback
from typing import NamedTuple

from ..control import Control
from ..log import logger
from ..timing.waits import bounded
from ..values import error_text
from ..values.log_lines import Lines


class Deadline(NamedTuple):
    at: float  # of time.monotonic()
    run: Control
    thread: int


class Watch:
    """The deadlines of the runs in progress."""

    def __init__(self) -> None:
        self._deadlines: dict[Control, Deadline] = {}
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._deadlines.clear()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._looks_at = math.inf
        self._thread: threading.Thread | None = None

    def begin(self, run: Control, timeout: int) -> None:
        """Has a run stopped should it not end within `timeout` microseconds."""
        at = time.monotonic() + timeout / 1e6
        with self._lock:
            self._deadlines[run] = Deadline(at, run, threading.get_ident())
            if at < self._looks_at:
                self._awake(at)

    def end(self, run: Control) -> None:
        """Forgets a run."""
        self._deadlines.pop(run, None)

    def forked(self) -> None:
        """In a child process: its parent's runs and its parent's thread are not here."""
        self._begin_anew()

    def _awake(self, at: float) -> None:
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name="tinystore-watch", daemon=True)
            thread.start()
            self._thread = thread
        self._looks_at = at
        self._changed.notify()

    def _run(self) -> None:
        while True:
            for deadline in self._passed():
                try:
                    _tell(deadline)
                except Exception as error:  # what one run costs this thread is not the others'
                    logger.error("%s passed its timeout, and could not be told", deadline.run, exc_info=error)

    def _passed(self) -> list[Deadline]:
        with self._changed:
            while True:
                now = time.monotonic()
                deadlines = tuple(self._deadlines.values())  # a run that ends takes its own away meanwhile
                if passed := [one for one in deadlines if one.at <= now and self._deadlines.pop(one.run, one)]:
                    return passed
                # With no run in progress it looks when it was to look: so the next run need not wake it.
                at = self._looks_at if self._looks_at > now else math.inf
                self._looks_at = min((one.at for one in deadlines), default=at)
                self._changed.wait(bounded(self._looks_at - now))


def _tell(deadline: Deadline) -> None:
    if not deadline.run.is_async:
        logger.warning("%s passed its timeout; its thread is at\n%s", deadline.run, Lines(_stack(deadline.thread)))
    deadline.run.stop("timeout")


def _stack(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    try:
        return "".join(traceback.format_stack(frame)) if frame else "its end"
    except Exception as error:  # it reads the code's text, by whatever loader a module has
        return f"a place that cannot be shown: {error_text(error)}"


watch = Watch()

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=watch.forked)
