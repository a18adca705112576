#!/usr/bin/env python3
"""Everything that one does with a checkout, in one command each; needs Python 3.11 and nothing else.

    python3 run.py demo [--serve] [--postgres]      see it work
    python3 run.py test [--db NAME] [pytest ...]    every test, on SQLite and on PostgreSQL
    python3 run.py matrix [pytest ...]              the built wheel on Django 5.2, 6.0 and 6.1
    python3 run.py check                            format, lint, types, layers, migrations, docs
    python3 run.py pin [--upgrade]                  requirements/ anew, from pyproject.toml's ranges

Each first makes .venv and installs what it needs there, and nothing anywhere else: the versions that
requirements/ names, by their hashes. A second run installs nothing and needs no network.
"""

import sys

# Before all else, and in words that an old Python can read.
if sys.version_info < (3, 11):
    sys.exit("run.py needs Python 3.11 or later: try python3.11 run.py. This is " + sys.version)

import hashlib
import importlib.util
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.json"
PINNED = sorted((ROOT / "requirements").glob("*.txt"))
EXTRAS = {
    "demo": ["test"],
    "test": ["test"],
    "matrix": ["test", "matrix"],
    "check": ["test", "check", "docs"],
    "pin": ["test", "pin"],
}


def main(arguments: list[str]) -> int:
    command, *rest = arguments or ["--help"]
    if command not in EXTRAS:
        print(__doc__)
        return 0 if command in ("-h", "--help", "help") else 2
    prepare(EXTRAS[command])
    return become([str(PYTHON), *task(command, rest)])


def task(command: str, rest: list[str]) -> list[str]:
    """What the virtual environment's Python is told to do."""
    if command != "demo":
        return ["-m", f"tooling.{command}", *rest]
    demo = ["example_project/manage.py", "demo", *rest]
    return ["-m", "tests.postgres", "--", str(PYTHON), *demo] if "--postgres" in rest else demo


def become(command: list[str]) -> int:
    """Goes on as another program, in the project's folder; its exit code, where it cannot take our place."""
    os.chdir(ROOT)
    if os.name != "nt":
        # Not below us: Ctrl-C, or a request to end, is then the program's own to answer, in its own time.
        sys.stdout.flush()
        os.execv(command[0], command)
    return subprocess.call(command)


def prepare(extras: list[str]) -> None:
    """Makes the virtual environment and installs the project with these extras, unless that is done."""
    if not _is_of_this_python():
        _make()
    key = hashlib.sha256(b"".join(path.read_bytes() for path in [ROOT / "pyproject.toml", *PINNED])).hexdigest()
    done = _installed(key)
    if set(extras) <= set(done):
        return
    wanted = sorted({*done, *extras})
    print(f"installing into .venv: tinystore-django[{','.join(wanted)}]", flush=True)
    files = [f"--requirement={ROOT / 'requirements' / name}.txt" for name in ("django", *wanted)]
    _install("--require-hashes", *files)
    # Built by the hatchling that is installed now: for a build of its own, pip would fetch the newest.
    _install("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    STAMP.write_text(json.dumps({"key": key, "extras": wanted}))


def _is_of_this_python() -> bool:
    try:
        return (
            subprocess.check_output([PYTHON, "-c", "import sys; print(sys.version)"], text=True) == f"{sys.version}\n"
        )
    except (OSError, subprocess.CalledProcessError):
        return False


def _make() -> None:
    # Debian's Python comes without ensurepip; this Python's pip then installs into the environment.
    options = [] if _has("ensurepip") else ["--without-pip"]
    _call([sys.executable, "-m", "venv", "--clear", *options, str(VENV)])


def _installed(key: str) -> list[str]:
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return []
    return list(stamp["extras"]) if stamp["key"] == key else []


def _install(*what: str) -> None:
    if _has("ensurepip"):
        pip = [str(PYTHON), "-m", "pip"]
    elif _has("pip"):
        pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    else:
        sys.exit("this Python has neither ensurepip nor pip: apt-get install python3-venv, then try again")
    _call([*pip, "install", "--quiet", "--disable-pip-version-check", "--no-input", *what])


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _call(command: list[str]) -> None:
    """Runs a step of the preparation; the program it runs has said what went wrong."""
    code = subprocess.call(command, cwd=ROOT)
    if code != 0:
        sys.exit(f"run.py could not prepare .venv: {' '.join(command)} ended with {code}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
