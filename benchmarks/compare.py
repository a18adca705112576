"""The same work for this queue and for others, all on one durable PostgreSQL: one table, with ratios.

    python -m benchmarks.compare [--only drain,add] [--queues pgqueuer,oban] [--jobs 10000] [--seconds 4] [--rounds 3]

Each cell is a rate, or a time in ms, and in brackets how many times as good ours is in the same round. Medians of the
rounds, in each of which the queues take turns; with `--results FILE`, of those that this file has from before, too.
The first time it makes an environment below build/, with the versions of others/requirements.txt; nothing is installed
anywhere else. Oban asks for Python 3.12: the newest on this machine is taken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.others.table import Cell, Round, markdown
from tests.postgres import Postgres
from tooling import interpreters

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "benchmarks" / "others" / "requirements.txt"
VENV = ROOT / "build" / "comparison"
NEEDED = (3, 12)
TASKS = {
    "drain": "drain, sync no-op handlers, 10 at once",
    "drain-async": "drain, async no-op handlers, 10 at once",
    "sleeping": "drain, 10 ms handlers, 50 at once",
    "later": "drain, sync no-op handlers, {rows:,} jobs due later",
    "add": "add, a commit each",
    "add-in-a-transaction": "add, all in one transaction",
    "add-many": "add many in one call",
    "latency": "add to start, idle worker",
}
WORK = ("drain", "drain-async", "sleeping", "later")


@dataclass(frozen=True)
class Queue:
    """A queue as it is compared: the module of its program, and a variant of it."""

    name: str
    module: str
    variant: str = ""
    remark: str = ""
    only_works: bool = False  # its adds are those of the other variant

    @property
    def database(self) -> str:
        return f"{self.module}_{self.variant}"


OURS = Queue("tinystore_django", "tinystore")
OTHERS = [
    Queue("pgqueuer", "pgqueuer"),
    Queue("pgqueuer", "pgqueuer", "twice", ", twice as many at once", only_works=True),
    Queue("oban", "oban"),
    Queue("procrastinate", "procrastinate"),
    Queue("django-tasks-db", "tasks_db", "kept", ", kept connections"),
    Queue("django-tasks-db", "tasks_db", "", ", new connections", only_works=True),
]


def main() -> None:
    asked = _arguments().parse_args()
    tasks = _chosen(asked.only, list(TASKS))
    names = _chosen(asked.queues, [OURS.name, *dict.fromkeys(queue.name for queue in OTHERS)])
    queues = [OURS, *(queue for queue in OTHERS if queue.name in names)]
    python = asked.python or _environment()
    kept = Path(asked.results) if asked.results else None
    rounds: list[Round] = json.loads(kept.read_text()) if kept and kept.exists() else []
    with Postgres(durable=True, tcp=True) as server:
        titles = {queue: f"{queue.name} {_install(python, server, queue)}{queue.remark}" for queue in queues}
        for _ in range(asked.rounds):
            rounds.append(_round(python, server, titles, tasks, asked, len(rounds)))
            if kept:
                kept.write_text(json.dumps(rounds))
        print(_about(server, python), end="\n\n")
    print(markdown(rounds, {task: words.format(rows=asked.rows) for task, words in TASKS.items()}))


def _round(python: str, server: Postgres, titles: dict[Queue, str], tasks: list[str], asked: Any, number: int) -> Round:
    measured: Round = {}
    for task in tasks:
        queues = [queue for queue in titles if task in WORK or not queue.only_works]
        first = number % len(queues)
        cells = {}
        # Each goes first in its turn: a server that others have used is not quite a fresh one.
        for queue in queues[first:] + queues[:first]:
            cells[titles[queue]] = _run(python, server, queue, task, asked)
        measured[task] = {titles[queue]: cells[titles[queue]] for queue in queues}
    return measured


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"some of {', '.join(TASKS)}")
    parser.add_argument("--queues", default="", help="some of the others")
    parser.add_argument("--jobs", type=int, default=20_000, help="the most jobs of one measurement")
    parser.add_argument("--seconds", type=float, default=4.0, help="the most seconds of one measurement")
    parser.add_argument("--rows", type=int, default=1_000_000, help="the jobs due later")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", default="", help="a file of rounds: these are added, and the table shows them all")
    parser.add_argument("--python", default="", help="an environment that has all of them, instead of one's own")
    return parser


def _chosen(given: str, known: list[str]) -> list[str]:
    names = [name for name in given.split(",") if name] or known
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"{', '.join(unknown)}: not one of {', '.join(known)}")
    return names


def _environment() -> str:
    """The Python of the environment that has them all; makes it, unless these versions are there."""
    python, stamp = VENV / "bin" / "python", VENV / "requirements.sha256"
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        found = interpreters.find()
        if not found or max(found) < NEEDED:
            raise SystemExit("oban needs Python 3.12 or later, and this machine has none")
        print(f"installing the other queues into {VENV.relative_to(ROOT)}", flush=True)
        subprocess.run([found[max(found)], "-m", "venv", "--clear", VENV], check=True)
        quietly = ["--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([python, "-m", "pip", "install", *quietly, "-r", REQUIREMENTS], check=True)
        stamp.write_text(digest)
    return str(python)


def _install(python: str, server: Postgres, queue: Queue) -> str:
    """Makes a database with the queue's tables, of which each measurement gets a copy; the queue's version."""
    _sql(server, f"create database {queue.database}")
    return str(_program(python, server, queue, queue.database, ["install"])["version"])


def _run(python: str, server: Postgres, queue: Queue, task: str, asked: Any) -> Cell:
    _sql(server, f"create database run template {queue.database}")
    options = {"jobs": asked.jobs, "seconds": asked.seconds, "rows": asked.rows}
    try:
        return _program(python, server, queue, "run", [task, *(f"--{name}={value}" for name, value in options.items())])
    finally:
        _sql(server, "drop database run with (force)")


def _program(python: str, server: Postgres, queue: Queue, database: str, arguments: list[str]) -> dict[str, Any]:
    url = server.url.rpartition("/")[0] + f"/{database}"
    command = [python, "-m", f"benchmarks.others.{queue.module}", *arguments, "--url", url, "--variant", queue.variant]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _sql(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(statement)


def _about(server: Postgres, python: str) -> str:
    with psycopg.connect(server.url) as connection:
        postgres = connection.info.parameter_status("server_version")
    words = "import os, platform, django; print(os.cpu_count(), platform.python_version(), django.__version__)"
    cores, version, django = subprocess.check_output([python, "-c", words], text=True).split()
    return f"{date.today()}: {cores} processors, PostgreSQL {postgres}, Python {version}, Django {django}"


if __name__ == "__main__":
    main()
