"""What a child of --processes says to its parent: that Python runs in it, and that it has done what it was to do.

The parent never connects, so it cannot read the children's leases. A child that renews none because the database is
away still has a pulse. One whose handler holds Python's lock in C code has none: no thread of it runs, so it renews
nothing, answers no signal, and would never end.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

# Names the file to which a child says so: the end of a pipe.
PULSE = "TINYSTORE_PULSE"
BEAT, DONE = b".", b"!"
EVERY = 0.2  # seconds
MOST = 65_536  # bytes that a pipe holds


class Pulse(threading.Thread):
    """The child's side; in a process that is no child it says nothing."""

    def __init__(self) -> None:
        super().__init__(name="tinystore-pulse", daemon=True)
        name = os.environ.pop(PULSE, None)
        self._file = None if name is None else int(name)

    def begin(self) -> Pulse:
        """Beats from now on to the process's end: what a handler has left behind may hang, too."""
        if self._file is not None:
            os.set_inheritable(self._file, False)  # what a handler starts is not the parent's child
            self._say(BEAT)  # the thread may come too late
            self.start()
        return self

    def done(self) -> None:
        """Says that it has ended by itself, as it was told to: no other is to take its place."""
        self._say(DONE)

    def run(self) -> None:
        while True:
            self._say(BEAT)
            time.sleep(EVERY)

    def _say(self, word: bytes) -> None:
        if self._file is not None:
            with suppress(OSError):  # the parent is stopped and the pipe full, or it is gone, which others notice
                os.write(self._file, word)


class Heard:
    """The parent's side, of one child."""

    def __init__(self) -> None:
        self._file, self.theirs = os.pipe()
        for end in (self._file, self.theirs):
            os.set_blocking(end, False)
        self.beats = self.done = False
        self.silent = 0.0  # seconds since the last beat, as far as the parent itself was awake

    def listen(self, seconds: float) -> None:
        """Hears what was said, so many seconds after the last time."""
        try:
            words = os.read(self._file, MOST)
        except BlockingIOError:
            words = b""
        if words:
            self.beats, self.silent = True, 0.0
            self.done = self.done or DONE in words
        elif self.beats:
            self.silent += seconds

    def close(self) -> None:
        os.close(self._file)
