"""Programs that a test starts beside itself: workers, and whatever else adds jobs or dies.

    with worker("naps", "--lease=2s") as one:
        one.wait_for_line("runs naps")
        one.send(signal.SIGTERM)
        assert one.wait() == 0

They read the test's own databases, which `conftest.py` names in TINYSTORE_TEST_NAMES, so a test that starts one
needs `django_db(transaction=True)`. What is still running at the end of the block is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")

# The folder that holds `tests`: the checkout, or the copy that the matrix tests the installed wheel from.
HOME = Path(__file__).resolve().parent.parent
# Far more than anything here takes: a machine may be busy, and a condition that holds ends its wait at once.
PATIENCE = 30.0
LOOK = 0.02


class Program:
    """A process, and the lines it has said so far, on stdout and stderr alike."""

    def __init__(self, *command: str, settings: str = "tests.settings", path: Path | None = None) -> None:
        """Starts it: Python's arguments. `path` is a folder of modules to find, such as other settings."""
        places = [str(HOME), *([str(path)] if path else [])]
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": settings,
            "PYTHONPATH": os.pathsep.join(places),
            "PYTHONUNBUFFERED": "1",
        }
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, *command],
            cwd=path or HOME,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def said(self, *words: str) -> list[str]:
        """Its lines that hold all these words."""
        return [line for line in tuple(self.lines) if all(word in line for word in words)]

    def wait_for_line(self, *words: str, seconds: float = PATIENCE) -> str:
        """Waits until it says a line that holds all these words; the first such line."""

        def found() -> str | None:
            lines = self.said(*words)
            if not lines and self.code is not None and not self._reader.is_alive():
                raise AssertionError(f"it ended with {self.code} and never said {words}:\n{self.text}")
            return lines[0] if lines else None

        return wait_for(found, seconds, lambda: f"{words} in:\n{self.text}")

    def send(self, number: int) -> None:
        """Sends a signal, to this process alone."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9; what it said is complete afterwards."""
        self._process.kill()
        self.wait()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Waits for its end; its exit code."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds:g} s:\n{self.text}") from None
        self._reader.join(1.0)  # children that outlive it keep the pipe open
        return code

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.code is None:
            self.send(signal.SIGCONT)  # a stopped process, too
            self.kill()
        if error is not None:
            print(f"--- process {self.pid} ended with {self.code} and said:\n{self.text}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))


def worker(*arguments: str, settings: str = "tests.settings", path: Path | None = None) -> Program:
    """A `manage.py tinystore_work` with these arguments."""
    return Program("-m", "django", "tinystore_work", *arguments, settings=settings, path=path)


def script(code: str, *, settings: str = "tests.settings", path: Path | None = None) -> Program:
    """A Python program that has Django set up."""
    return Program("-c", f"import django\ndjango.setup()\n{code}", settings=settings, path=path)


def other_settings(folder: Path, name: str, code: str) -> dict[str, object]:
    """Writes settings that add to the tests' own; what `worker` and `script` take to use them."""
    (folder / f"{name}.py").write_text(f"from tests.settings import *\n\n{code}\n")
    return {"settings": name, "path": folder}


def wait_for(
    condition: Callable[[], T], seconds: float = PATIENCE, what: Callable[[], object] = lambda: "the condition"
) -> T:
    """Waits until the condition gives something true, and gives that back."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what()}")
        time.sleep(LOOK)
    return answer
