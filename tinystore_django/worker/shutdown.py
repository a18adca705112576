"""SIGTERM and SIGINT: the first asks to stop, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .farewell import SIGNALS, leave

# A terminal and a supervisor may both pass on the same wish to stop: within so many seconds it is one.
SAME = 0.1


class _Forking(threading.local):
    mask: Iterable[int] | None = None  # what this thread blocked before it forks


_forking = _Forking()
_answered = False  # whether this process answers the signals itself


class Shutdown:
    """Whether this process is to stop, and who is told when it is."""

    def __init__(self) -> None:
        self._asked_at: float | None = None
        self._event = threading.Event()
        self._listeners: list[Callable[[], object]] = []
        self._last: list[Callable[[], object]] = []

    @property
    def asked(self) -> bool:
        return self._asked_at is not None

    def on_asked(self, call: Callable[[], object]) -> None:
        """Calls when the process is asked to stop; at once if it has been."""
        self._listeners.append(call)
        if self.asked:
            call()

    def on_second(self, call: Callable[[], object]) -> None:
        """Calls at a second signal, before the process ends at once."""
        self._last.append(call)

    def ask(self) -> None:
        """Asks the process to stop, as a signal does."""
        self._asked_at = time.monotonic()
        self._event.set()
        for call in self._listeners:
            call()

    def wait(self, seconds: float) -> bool:
        """Waits until asked, at most so long; whether it was."""
        return self._event.wait(seconds)

    def left(self, grace: float) -> float:
        """How many seconds of the grace are left."""
        return grace if self._asked_at is None else self._asked_at + grace - time.monotonic()

    @contextmanager
    def on_signals(self, to_the_end: bool = False) -> Iterator[None]:
        """Answers the signals inside the block, and `to_the_end` of the process. Python delivers them to the main
        thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        global _answered
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        _answered = True
        try:
            yield
        finally:
            if not to_the_end:
                self._restore(before)

    def _restore(self, before: Mapping[signal.Signals, Any]) -> None:
        global _answered
        if self._asked_at is not None:  # what is the same wish must not find the default, which is to die of it
            time.sleep(max(0.0, self._asked_at + SAME - time.monotonic()))
        _answered = False
        for number, handler in before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked_at is None:
            self.ask()
        elif time.monotonic() - self._asked_at > SAME:
            for call in self._last:
                call()
            leave(1)


def _before_fork() -> None:
    if _answered:
        _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _after_fork() -> None:
    mask, _forking.mask = _forking.mask, None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _after_fork_in_child() -> None:
    """To a child that a handler forked, a signal means what it means to any process, one that came at once as well.

    Python drops what comes while it forks, so it is kept waiting: multiprocessing's Pool may end a child that early.
    """
    if _forking.mask is not None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
    _after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
