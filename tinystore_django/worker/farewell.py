"""The end of the command's process: with the command's own exit code, and soon."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Seconds that Python's own end has at the least: for hooks that send what they gathered, such as an error tracker's.
LEAST = 1.0
# Seconds past the grace in which a worker that was asked to stop has long ended, and a parent of such workers.
OVERDUE, PARENTS = 15.0, 18.0
# Seconds between two looks whether it is to end earlier or later.
LOOK = 0.2


class Farewell(threading.Thread):
    """Ends the process once its command has ended: what a handler has left behind, such as an executor that is at
    work, a pool of processes or a slow hook of atexit, does not keep it past its bound."""

    def __init__(self) -> None:
        super().__init__(name="tinystore-farewell", daemon=True)
        self._ends_at = 0.0  # of time.monotonic()
        self._code = 1
        self._begins = threading.Event()
        self._hooks = 0

    def __enter__(self) -> Farewell:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._code = _code(error)
        atexit.register(self._leave)
        self._hooks = atexit._ncallbacks()
        if not self._begins.is_set():
            self.bound(LEAST)

    def asked(self, seconds: float) -> None:
        """Bounds the process once it is asked to stop: a statement without an answer may keep its main thread, too."""
        self._code = 0
        self.bound(seconds)

    def bound(self, seconds: float) -> None:
        """Has the process end within so many seconds; what was said before holds no more."""
        self._ends_at = time.monotonic() + max(LEAST, seconds)
        self._begins.set()

    def run(self) -> None:
        self._begins.wait()
        while (left := self._ends_at - time.monotonic()) > 0:
            time.sleep(min(left, LOOK))
        os._exit(self._code)

    def _leave(self) -> None:
        """Takes the last place among the hooks of the process's end. Behind it Python would set the signals to their
        defaults, by which a second one kills, and make a reader that has gone an exit code of its own."""
        if atexit._ncallbacks() > self._hooks:  # some came later and so had their turn: they would have another
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            return
        atexit.unregister(self._leave)
        atexit._run_exitfuncs()
        leave(self._code)


def _code(error: BaseException | None) -> int:
    """The exit code of a program that ends with this exception."""
    if error is None or (isinstance(error, SystemExit) and error.code is None):
        return 0
    return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1


def line_by_line() -> None:
    """Has each line go out at once, also a handler's: a pipe's reader would else wait for some thousand characters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def leave(code: int) -> None:
    """Ends the process without waiting for its threads: Python cannot end a handler that does not return."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, RuntimeError, ValueError):  # none, closed, or nobody reads it any more
            stream.flush()
    os._exit(code)
