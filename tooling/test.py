"""`run.py test`: every test, on SQLite and on PostgreSQL, with one total at the end.

Nothing is left out in silence: what could not run is the last thing printed, and in CI it is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import postgres
from tests.postgres_programs import Unavailable
from tooling.results import Result, read, total, with_exit

# Tests spend their time waiting for processes more than computing: three at once, each on a database of its own,
# take half as long on two cores, and have shown no more trouble than one.
AT_ONCE = ["-n", "3", "--dist", "worksteal"]
ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
COVERAGE = ROOT / "build" / "coverage"
# By this, coverage finds its settings in the programs that are started.
COVERAGE_ASKED = "COVERAGE_PROCESS_START"
DATABASES = ("sqlite", "postgresql")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="run.py test", allow_abbrev=False)
    parser.add_argument("--db", choices=DATABASES, help="one database, rather than both")
    parser.add_argument("--coverage", action="store_true", help="measure which lines and branches ran, and print it")
    asked, pytest_arguments = parser.parse_known_args(arguments)
    if asked.coverage:
        measure()
    databases = [asked.db] if asked.db else list(DATABASES)
    results = [suite(database, databases, pytest_arguments) for database in databases]
    if all(argument.startswith("-") for argument in pytest_arguments):
        results.append(example(pytest_arguments))
    else:
        print("\nleft out: the example project's tests, since the arguments choose among tests")
    code = report(total(results))
    return print_coverage() or code if asked.coverage else code


def measure() -> None:
    """Have every Python that is started from here on measured: pytest, its processes, and the programs of tests."""
    shutil.rmtree(COVERAGE, ignore_errors=True)
    COVERAGE.mkdir(parents=True)
    os.environ[COVERAGE_ASKED] = str(ROOT / "pyproject.toml")


def print_coverage() -> int:
    """Print the share of lines and branches that ran on any of the databases; the exit code of what counts it."""
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.call([*coverage, "combine", "--quiet"], cwd=ROOT)
    return subprocess.call([*coverage, "report"], cwd=ROOT)


def suite(database: str, databases: list[str], arguments: list[str]) -> Result:
    """Runs the tests on one database. What drives a browser, or needs no database, runs on the first only."""
    print(f"\n=== {database} ===", flush=True)
    try:
        if database == "postgresql":
            postgres.look()
    except Unavailable as error:
        return Result(failed=1, not_run=(f"every test on postgresql: {error}",))
    environment = {
        **os.environ,
        "TINYSTORE_TEST_DATABASE": database,
        "TINYSTORE_TEST_ONCE": "" if database == databases[0] else "done",
        "TINYSTORE_TEST_INSTALL": "yes",
    }
    return run_pytest(database, arguments, environment)


def example(arguments: list[str]) -> Result:
    """Runs the example project's own tests, with its own settings."""
    print("\n=== example_project ===", flush=True)
    names = ["-o", "pythonpath=example_project", "-o", "python_files=tests.py test_*.py"]
    chosen = ["example_project", "--ds=example_project.settings", "-n0", *names]
    return run_pytest("example_project", [*chosen, *arguments], dict(os.environ))


def run_pytest(name: str, arguments: list[str], environment: dict[str, str]) -> Result:
    junit = REPORTS / f"{name}.xml"
    junit.unlink(missing_ok=True)
    at_once = [] if any(argument.startswith("-n") for argument in arguments) else AT_ONCE
    program = ["-m", "coverage", "run", "-m", "pytest"] if COVERAGE_ASKED in os.environ else ["-m", "pytest"]
    command = [sys.executable, *program, *at_once, *arguments, f"--junitxml={junit}"]
    code = subprocess.call(command, cwd=ROOT, env=environment)
    return with_exit(name, read(name, junit), code)


def report(result: Result) -> int:
    """Prints the total, then what did not run; gives the exit code."""
    print(f"\n{result}", flush=True)
    for line in result.not_run:
        print(f"NOT RUN: {line}", flush=True)
    incomplete = bool(result.not_run) and os.environ.get("CI") == "true"
    if not result.ran and not result.not_run:
        print("NOT RUN: no test was chosen")
    return 1 if result.failed or incomplete or not result.ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
