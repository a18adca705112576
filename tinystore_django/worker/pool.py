"""Threads for sync handlers: started when they are needed, kept for the next run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from ..log import logger
from .connections import Care, close_all
from .contexts import beginning

Call = Callable[[Care], object]


class Pool:
    """Runs calls in threads, each with the care of its thread's connections. It never refuses one: how many run at once
    is its user's to say.

    One thread at a time is called in, and it calls the next before its own work if there is more. So calls that
    wait for something run each in a thread of their own, and quick ones one after another in the thread that is awake
    already: to wake one takes longer than they do. Who was idle last is called first, for its connections are warm.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque()
        self._idle: list[threading.Lock] = []  # what each idle thread waits for
        self._threads = 0
        self._one_comes = False
        self._one_by_one = False
        self._stopped = False

    def start(self, calls: Iterable[Call], one_by_one: bool = False) -> None:
        """Runs calls in idle threads or new ones; one by one in the same until `spread`.

        Raises:
            RuntimeError: there is no thread, and the system starts none. None of them runs.
        """
        with self._lock:
            if not self._one_comes:
                self._call_in()
            self._calls.extend(calls)
            self._one_by_one = one_by_one

    def spread(self) -> None:
        """Has those that still wait for one another run at once."""
        if self._one_by_one:
            with self._lock:
                self._one_by_one = False
                if self._calls and not self._one_comes:
                    self._call_in()

    def stop(self) -> None:
        """Lets each thread end once it is idle."""
        with self._lock:
            self._stopped = True
            while self._idle:
                self._idle.pop().release()

    def _call_in(self) -> None:
        self._one_comes = bool(self._idle) or self._is_begun()
        if self._idle:
            self._idle.pop().release()

    def _is_begun(self) -> bool:
        """Begins a thread; False where the system has no more, and those that are busy have to do."""
        # Daemons: Python cannot end a thread, and a handler that never returns must not keep the process.
        try:
            threading.Thread(target=self._run, name=f"tinystore-run-{self._threads + 1}", daemon=True).start()
        except RuntimeError:  # also where a handler has set `threading.excepthook` to None
            if not self._threads:
                raise
            return False
        self._threads += 1
        return True

    def _run(self) -> None:
        bell = threading.Lock()
        bell.acquire()
        care, context = Care(), beginning()
        self._came()
        try:
            while (call := self._next(bell)) is not None:
                context.copy().run(self._perform, call, care)
        finally:
            close_all()

    def _perform(self, call: Call, care: Care) -> None:
        try:
            call(care)
        except BaseException:  # a thread that ended by it would leave the other calls waiting for it
            logger.exception("a call in a thread of the handlers raised")

    def _next(self, bell: threading.Lock) -> Call | None:
        """The next call, waited for; None once there is none and never will be."""
        while True:
            with self._lock:
                if self._calls:
                    return self._take()
                if self._stopped:
                    return None
                self._idle.append(bell)
            bell.acquire()
            self._came()

    def _came(self) -> None:
        with self._lock:
            self._one_comes = False

    def _take(self) -> Call:
        call = self._calls.popleft()
        if self._calls and not (self._one_comes or self._one_by_one):
            self._call_in()
        return call
