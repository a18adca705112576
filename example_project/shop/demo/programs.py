"""The demo's child processes: each writes a log, and is stopped with the demo."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from django.conf import settings

from .facts import NotSo
from .places import Place

MANAGE = Path(settings.BASE_DIR) / "manage.py"
STOP_SECONDS = 15
TAIL = 2000


class Programs:
    """Runs commands of manage.py in a place. A context manager: what it started has ended when it is left."""

    def __init__(self, place: Place, password: str) -> None:
        self._folder = place.folder
        self._environment = {
            **os.environ,
            **place.environment,
            "DJANGO_SUPERUSER_PASSWORD": password,
            "PYTHONUNBUFFERED": "1",
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, *command: str) -> None:
        """Runs a command to its end. Raises NotSo with what it said if it failed."""
        self._start(*command).wait()
        if self._running.pop(command[0]).returncode != 0:
            raise NotSo(f"manage.py {' '.join(command)} failed:\n{self.log(command[0])}")

    def start(self, *command: str) -> None:
        """Starts a command that goes on until the demo ends."""
        self._start(*command)

    def check(self) -> None:
        """Raises NotSo if a started program has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise NotSo(f"{name} ended with {process.returncode}:\n{self.log(name)}")

    def log(self, name: str) -> str:
        """The end of what a program has said."""
        return self._log(name).read_text(errors="replace")[-TAIL:]

    def stop(self) -> None:
        """Asks every program to end, and waits until it has."""
        for process in self._running.values():
            process.terminate()
        while self._running:
            _, process = self._running.popitem()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            process.kill()
            process.wait()

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with self._log(command[0]).open("wb") as log:
            # A session of its own: Ctrl-C is for the demo, which then stops it.
            self._running[command[0]] = process = subprocess.Popen(
                [sys.executable, str(MANAGE), *command],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
