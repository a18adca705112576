"""What the worker processes of `benchmarks.processes` run."""

import array
import atexit
import os
import time
from pathlib import Path

from tinystore_django import store

noop = store.queue("noop")
started = array.array("d")


@noop.handler
def note(value: object) -> None:
    started.append(time.monotonic())


@atexit.register
def leave_behind() -> None:
    """Writes when each job of this process started, as doubles, to the folder that the benchmark reads."""
    if started:
        (Path(os.environ["TINYSTORE_BENCHMARKS_FOLDER"]) / str(os.getpid())).write_bytes(started.tobytes())
