"""`run.py matrix`: the built wheel, on every Django it promises and the interpreters of this machine.

The oldest Django runs on the oldest and on the newest interpreter that it supports, the newest on the newest, and
what is between on its oldest: each Django and each end of the interpreters, in as little time as that takes.
What ran and what did not, and why, is printed last. In CI, a Django that some interpreter here supports and
that did not run is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import postgres
from tests.postgres_programs import Unavailable
from tooling.interpreters import Version, find
from tooling.results import Result, read, total, with_exit

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
WHEEL = ROOT / "build" / "wheel"
# The first and the last Python that each Django supports; the package itself starts at 3.11.
DJANGOS: dict[str, tuple[Version, Version]] = {
    "5.2": ((3, 11), (3, 14)),
    "6.0": ((3, 12), (3, 14)),
    "6.1": ((3, 12), (3, 14)),
}
# Of those that are here, in their order.
ENDS: dict[str, tuple[int, ...]] = {"5.2": (0, -1), "6.0": (0,), "6.1": (-1,)}


@dataclass(frozen=True)
class Place:
    """One environment of tox: a Django on an interpreter."""

    django: str
    python: Version

    @property
    def name(self) -> str:
        return f"py{self.python[0]}{self.python[1]}-django{self.django.replace('.', '')}"


def main(arguments: list[str]) -> int:
    interpreters = find()
    places = plan(list(interpreters))
    print(f"interpreters: {', '.join(str(path) for path in interpreters.values())}")
    try:
        print(f"PostgreSQL: {postgres.look()}", flush=True)
    except Unavailable as error:
        print(f"\nNOT RUN: the matrix: {error}")
        return 1
    options = ["--installpkg", str(wheel()), "--discover", *(str(path) for path in interpreters.values())]
    return report({place: run(place, options, arguments) for place in places})


def wheel() -> Path:
    """Build the wheel that all environments install, as it would be published."""
    shutil.rmtree(WHEEL, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(WHEEL)]
    subprocess.run(build, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return next(WHEEL.glob("*.whl"))


def plan(pythons: list[Version]) -> list[Place]:
    """Which Django runs on which of these interpreters."""
    places = []
    for django, (first, last) in DJANGOS.items():
        fit = sorted(python for python in pythons if first <= python <= last)
        ends = dict.fromkeys(fit[end] for end in ENDS[django] if fit)
        places += [Place(django, python) for python in ends]
    return places


def run(place: Place, options: list[str], arguments: list[str]) -> Result:
    """Runs one environment: two pytest processes, one a database."""
    print(f"\n=== {place.name} ===", flush=True)
    reports = {database: REPORTS / f"{place.name}-{database}.xml" for database in ("sqlite", "postgresql")}
    for junit in reports.values():
        junit.unlink(missing_ok=True)
    tox = [sys.executable, "-m", "tox", "run", "-e", place.name, *options]
    code = subprocess.call([*tox, "--", *arguments] if arguments else tox, cwd=ROOT)
    ran = total(read(f"{place.name} {database}", junit) for database, junit in reports.items())
    return with_exit(place.name, ran, code)


def report(results: dict[Place, Result]) -> int:
    """Prints what ran, the total, and what did not run; gives the exit code."""
    print()
    for place, result in results.items():
        print(f"{place.name}: {result}")
    every = total(results.values())
    print(f"{every}")
    idle = [f"{place.name}: none of its tests ran" for place, result in results.items() if not result.ran]
    # Not a failure, even in CI: this machine has nothing to run these on.
    homeless = sorted(DJANGOS.keys() - {place.django for place in results})
    for line in [*every.not_run, *idle, *map(_homeless, homeless)]:
        print(f"NOT RUN: {line}")
    incomplete = bool(every.not_run or idle) and os.environ.get("CI") == "true"
    return 1 if every.failed or incomplete or not every.ran else 0


def _homeless(django: str) -> str:
    first, last = (".".join(map(str, version)) for version in DJANGOS[django])
    return f"Django {django}: it runs on Python {first} to {last}, and this machine has none of them"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
