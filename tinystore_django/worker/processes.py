"""--processes N: N children, each a worker of its own, started again when it dies. The parent never connects."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

from django.utils import autoreload

from ..log import logger
from .pulse import PULSE, Heard
from .shutdown import SAME

# Names the parent to its children, which stop should it die.
PARENT = "TINYSTORE_PARENT"
_parent = os.environ.pop(PARENT, None)  # what a handler starts is not the parent's child
LOOK = 0.1  # seconds between two looks at the children
FIRST, LONGEST = 1.0, 30.0  # seconds before a dead child is started again
AWAKE = 1.0  # seconds: no look comes later than that after the one before it, unless this process was stopped
LAST = 3.0  # seconds of silence after which a child that is past its grace is taken to hang
LIVED = 5.0  # seconds after which a child has started well


class Child:
    """A child, and when another is to take its place."""

    def __init__(self) -> None:
        self.pause = FIRST / 2
        self._start()

    def _start(self) -> None:
        heard = Heard()
        try:
            self.process = _spawn(heard.theirs)
        except BaseException:
            heard.close()
            raise
        self.heard, self.killed = heard, False
        self.began = time.monotonic()
        self.starts_at: float | None = None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self, why: str) -> None:
        logger.warning("worker process %s %s: it is killed", self.process.pid, why)
        self.killed = True
        self.process.kill()
        self.process.wait()

    def replace(self) -> None:
        """Has another take its place, after a pause; at the end of that, starts it."""
        if self.starts_at is None:
            self.heard.close()
            self.pause = FIRST if time.monotonic() - self.began > LIVED else min(2 * self.pause, LONGEST)
            self.starts_at = time.monotonic() + self.pause
            about = (self.process.pid, self.process.returncode, self.pause)
            logger.warning("worker process %s ended with %s: another starts in %.0f s", *about)
        elif time.monotonic() >= self.starts_at:
            self._try_to_start()

    def _try_to_start(self) -> None:
        try:
            self._start()
        except OSError as error:  # no process or no file to be had now: the other children go on
            self.pause = min(2 * self.pause, LONGEST)
            self.starts_at = time.monotonic() + self.pause
            logger.error("a worker process cannot be started: %s; tried again in %.0f s", error, self.pause)


class Processes:
    """The children of one command; their lease and grace are in seconds."""

    def __init__(self, count: int, lease: float, grace: float) -> None:
        self._silence = 2 * lease
        self._grace = grace
        self._children = [Child() for _ in range(count)]
        self._stops_at: float | None = None
        self._looked_at = time.monotonic()

    def run(self, is_asked: Callable[[float], bool]) -> int:
        """Looks after them until all have ended, or asks them to stop when it is asked; the exit code."""
        while not all(self._is_over(child) for child in self._children):
            if is_asked(LOOK):
                self.stop()
                time.sleep(LOOK)
            before, self._looked_at = self._looked_at, time.monotonic()
            for child in self._children:
                # Where this process was stopped for a while, so were they.
                self._look_after(child, min(self._looked_at - before, AWAKE))
        return int(not all(self._ended_well(child) for child in self._children))

    def stop(self) -> None:
        """Asks each child to stop, once."""
        if self._stops_at is None:
            self._stops_at = time.monotonic() + self._grace
            self._children = [child for child in self._children if child.alive]
            self.signal(signal.SIGTERM)

    def end(self) -> None:
        """Ends each child at once, as a second signal does."""
        self.stop()
        for number in (signal.SIGTERM, signal.SIGKILL):  # one that hangs answers nothing else
            time.sleep(2 * SAME)
            self.signal(number)

    def signal(self, number: int) -> None:
        for child in self._children:
            if child.alive:
                child.process.send_signal(number)

    def _is_over(self, child: Child) -> bool:
        """Whether it has ended, and no other is to take its place."""
        return not child.alive and child.starts_at is None and (self._stops_at is not None or child.heard.done)

    def _look_after(self, child: Child, seconds: float) -> None:
        alive = child.alive  # before what it said last is heard
        if child.starts_at is None:
            child.heard.listen(seconds)
        if alive and not self._ends_hung(child):
            return
        if self._stops_at is None and not child.heard.done:
            child.replace()

    def _ends_hung(self, child: Child) -> bool:
        silent = child.heard.silent
        overdue = self._stops_at is not None and time.monotonic() > self._stops_at
        if silent <= self._silence and not (overdue and silent > LAST):
            return False
        child.kill(f"has not run for {silent:.0f} s, as where C code holds Python's lock")
        return True

    def _ended_well(self, child: Child) -> bool:
        # SIGTERM itself ends a child that had not come as far as answering it, nor as far as taking a job.
        stopped = child.killed or child.process.returncode == -signal.SIGTERM
        return child.process.returncode == 0 or (stopped and self._stops_at is not None)


def is_child() -> bool:
    """Whether this process was started by another worker command, which has said what it runs."""
    return _parent is not None


def orphaned() -> bool:
    """Whether this is a child whose parent has died."""
    return is_child() and _parent != str(os.getppid())


def _spawn(pulse: int) -> subprocess.Popen[bytes]:
    # A session of its own: a terminal's Ctrl-C goes to the parent alone, which passes it on once.
    arguments = [*autoreload.get_child_arguments(), "--processes=1", "--no-reload"]
    environment = {**os.environ, PARENT: str(os.getpid()), PULSE: str(pulse)}
    try:
        return subprocess.Popen(arguments, env=environment, start_new_session=True, pass_fds=[pulse])
    finally:
        os.close(pulse)
