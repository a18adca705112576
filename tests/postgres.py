"""A PostgreSQL of one's own, for tests and the demo: in a temporary folder, gone afterwards.

    with Postgres() as server:
        connect(server.url)

`python -m tests.postgres -- COMMAND` runs a command with TINYSTORE_TEST_DATABASE_URL naming such a server;
`python -m tests.postgres --find` says which PostgreSQL it would start.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from tests.postgres_programs import Unavailable, find, parent_folder, runnable

# PostgreSQL refuses to run as root. This is usually "nobody", and needs no entry in /etc/passwd.
UNPRIVILEGED = 65534
QUICK = ["-F", "-c", "full_page_writes=off"]
START_SECONDS = 60
STOP_SECONDS = 60


class Postgres:
    """One server. It asks nobody for a password, and so listens on a socket in a folder of its user's alone.

    `durable=True` keeps fsync on, for crash tests and benchmarks; with `tcp=True` it listens on a port of this machine
    instead, where every user of it may connect.
    """

    def __init__(self, *, durable: bool = False, tcp: bool = False, options: tuple[str, ...] = ()) -> None:
        self._options = [*([] if durable else QUICK), *options]
        self._folder: Path | None = None
        self._bin: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._tcp = tcp
        self.port = _free_port() if tcp else 5432

    @property
    def url(self) -> str:
        """Where the server answers, the same through every restart."""
        host = "127.0.0.1" if self._tcp else quote(str(self._home), safe="")
        return f"postgresql://postgres@{host}:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The server's process. RuntimeError while it is stopped."""
        if self._process is None:
            raise RuntimeError("this PostgreSQL is stopped: start() it first")
        return self._process.pid

    def start(self) -> Postgres:
        """Starts the server, on the data it had if it ran before, and returns once it takes connections."""
        if self._folder is None:
            self._create()
        command = ["postgres", "-D", "data", "-k", str(self._folder), "-p", str(self.port)]
        settings = ["-c", f"listen_addresses={'127.0.0.1' if self._tcp else ''}", "-c", "max_connections=200"]
        with (self._home / "log").open("ab") as log:
            self._process = self._popen([*command, *settings, *self._options], stdout=log, stderr=log)
        self._wait_until_ready()
        return self

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stops the server and keeps its data. SIGINT: open sessions are cut off; SIGQUIT: as in a crash."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def remove(self) -> None:
        """Stops the server and deletes its data."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Postgres:
        try:
            return self.start()
        except BaseException:
            self.remove()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @property
    def _home(self) -> Path:
        assert self._folder is not None
        return self._folder

    def _create(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tinystore-pg-", dir=parent_folder()))
        if os.geteuid() == 0:
            os.chown(self._folder, UNPRIVILEGED, UNPRIVILEGED)
        self._bin = runnable(find(), self._folder)
        command = ["initdb", "-D", "data", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = self._popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = made.communicate()
        if made.returncode != 0:
            raise Unavailable(f"initdb of {self._bin} failed:\n{said.decode(errors='replace')}")

    def _popen(self, command: list[str], **streams: Any) -> subprocess.Popen[bytes]:
        assert self._bin is not None
        who: dict[str, Any] = {}
        if os.geteuid() == 0:
            who = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
        # A session of its own: Ctrl-C is for the tests, which then stop the server themselves.
        return subprocess.Popen(
            [str(self._bin / command[0]), *command[1:]],
            cwd=self._home,
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            **streams,
            **who,
        )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._home / "log").read_text(errors="replace")
                self.stop(signal.SIGQUIT)
                raise Unavailable(f"PostgreSQL of {self._bin} did not start:\n{log[-2000:]}")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        """Line 8 of postmaster.pid is PostgreSQL's own word on whether it takes connections."""
        assert self._process is not None
        with contextlib.suppress(FileNotFoundError):
            lines = (self._home / "data" / "postmaster.pid").read_text().splitlines()
            return lines[:1] == [str(self._process.pid)] and [line.strip() for line in lines[7:8]] == ["ready"]
        return False


def address() -> dict[str, str]:
    """The `DATABASES` entry of the PostgreSQL to test on: the one named in the environment, else one's own.

    TINYSTORE_TEST_DATABASE_URL or PGHOST name it; then nothing is started, and it has to be there.
    """
    if not _is_given():
        server = Postgres()
        atexit.register(server.remove)
        os.environ["TINYSTORE_TEST_DATABASE_URL"] = server.start().url
    url = os.environ.get("TINYSTORE_TEST_DATABASE_URL")
    if url:
        return parse(url)
    given = {
        "HOST": "PGHOST",
        "PORT": "PGPORT",
        "USER": "PGUSER",
        "PASSWORD": "PGPASSWORD",
        "NAME": "PGDATABASE",
    }
    defaults = {"USER": "postgres", "NAME": "postgres"}
    return {key: os.environ.get(name, defaults.get(key, "")) for key, name in given.items()}


def look() -> str:
    """Which PostgreSQL `address` would use, starting none. Unavailable if there is none."""
    return "the one that the environment names" if _is_given() else str(find())


def parse(url: str) -> dict[str, str]:
    """postgresql://user:password@host:port/name as the entry of `DATABASES`. Its host may be a socket's folder."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise ValueError(f"database address {url!r}: write it as postgresql://user:password@host:5432/name")
    # `hostname` would be in small letters, which the folder of a socket need not be.
    host = parts.netloc.rpartition("@")[2].removesuffix(f":{parts.port}")
    return {
        "HOST": unquote(host.strip("[]")),
        "PORT": str(parts.port or ""),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "NAME": unquote(parts.path.lstrip("/")),
    }


def _is_given() -> bool:
    return bool(os.environ.get("TINYSTORE_TEST_DATABASE_URL") or os.environ.get("PGHOST"))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a command beside a temporary PostgreSQL.")
    parser.add_argument("--find", action="store_true", help="say which PostgreSQL would be used, and start none")
    parser.add_argument("--durable", action="store_true", help="keep fsync on")
    parser.add_argument("command", nargs="*")
    asked = parser.parse_args()
    try:
        if asked.find:
            print(look())
            return 0
        if _is_given():
            return call(asked.command, dict(os.environ))
        with Postgres(durable=asked.durable) as server:
            environment = {**os.environ, "TINYSTORE_TEST_DATABASE_URL": server.url}
            return call(asked.command, environment)
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1


def call(command: list[str], environment: dict[str, str]) -> int:
    """Runs a command to its end. A signal is passed on to it, and the server is there until it has answered."""
    process = subprocess.Popen(command, env=environment)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: process.send_signal(number))
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
