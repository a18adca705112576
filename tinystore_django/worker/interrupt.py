"""Ctrl-C while the main thread runs handlers: it ends their caller, where an exception would cost one of them its
attempt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

Answer = Callable[[int, FrameType | None], object]


class Interrupt:
    """A block in which it is known whether Ctrl-C was pressed. A handler may raise KeyboardInterrupt, too."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Answer | None = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():  # no other is interrupted, nor may say by what
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None and signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raises KeyboardInterrupt if it was pressed."""
        if self.pressed:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        assert self._before is not None
        try:
            self._before(number, frame)
        except KeyboardInterrupt:  # the project's own answer may be another
            self.pressed = True
            raise
