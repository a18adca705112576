"""--processes N: N children, each a worker of its own, started again when it dies. The parent never connects."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.utils import autoreload

from ..log import logger
from .shutdown import SAME

# Names the parent to its children, which stop should it die.
PARENT = "TINYSTORE_PARENT"
LOOK = 0.1  # seconds between two looks at the children
FIRST, LONGEST = 1.0, 30.0  # seconds before a dead child is started again
LIVED = 5.0  # seconds after which a child has started well


@dataclass(slots=True)
class Child:
    process: subprocess.Popen[bytes]
    pause: float = FIRST / 2
    began: float = field(default_factory=time.monotonic)
    starts_at: float | None = None


class Processes:
    """The children of one command."""

    def __init__(self, count: int) -> None:
        self._children = [Child(_spawn()) for _ in range(count)]
        self._stopping = False

    def run(self, is_asked: Callable[[float], bool]) -> int:
        """Looks after them until all have ended, or asks them to stop when it is asked; the exit code."""
        while any(child.process.poll() is None or child.starts_at for child in self._children):
            if is_asked(LOOK):
                self.stop()
                time.sleep(LOOK)
            for child in self._children:
                self._look_after(child)
        # SIGTERM itself ends a child that had not come as far as answering it, nor as far as taking a job.
        well = (0, -signal.SIGTERM) if self._stopping else (0,)
        return int(any(child.process.returncode not in well for child in self._children))

    def stop(self) -> None:
        """Asks each child to stop, once."""
        if not self._stopping:
            self._stopping = True
            self._children = [child for child in self._children if child.process.poll() is None]
            self.signal(signal.SIGTERM)

    def end(self) -> None:
        """Ends each child at once, as a second signal does."""
        self.stop()
        time.sleep(2 * SAME)
        self.signal(signal.SIGTERM)

    def signal(self, number: int) -> None:
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(number)

    def _look_after(self, child: Child) -> None:
        code = child.process.poll()
        if code is None or self._stopping:
            return
        if child.starts_at is not None:
            self._start_again(child)
        elif code != 0:  # with 0 it has done what it was to do: --until-idle, --max-jobs
            child.pause = FIRST if time.monotonic() - child.began > LIVED else min(2 * child.pause, LONGEST)
            child.starts_at = time.monotonic() + child.pause
            pid = child.process.pid
            logger.warning("worker process %s ended with %s: another starts in %.0f s", pid, code, child.pause)

    def _start_again(self, child: Child) -> None:
        assert child.starts_at is not None
        if time.monotonic() >= child.starts_at:
            child.process, child.began, child.starts_at = _spawn(), time.monotonic(), None


def is_child() -> bool:
    """Whether this process was started by another worker command, which has said what it runs."""
    return PARENT in os.environ


def orphaned() -> bool:
    """Whether this is a child whose parent has died."""
    return is_child() and os.environ[PARENT] != str(os.getppid())


def _spawn() -> subprocess.Popen[bytes]:
    # A session of its own: a terminal's Ctrl-C goes to the parent alone, which passes it on once.
    arguments = [*autoreload.get_child_arguments(), "--processes=1", "--no-reload"]
    return subprocess.Popen(arguments, env={**os.environ, PARENT: str(os.getpid())}, start_new_session=True)
