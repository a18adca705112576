"""`run.py pin`: writes the versions and hashes that run.py, tox and the workflows install, from pyproject.toml.

What is pinned stays as long as it fits the ranges there; `run.py pin --upgrade` takes the newest of everything. A file
holds on every Python and system that the project supports. Users of the package get the ranges.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
# One resolution of everything, which the files are parts of: they are installed together.
ALL = ROOT / "build" / "pins" / "all.txt"
EXTRAS = ("test", "matrix", "check", "docs", "release", "pin")
OLDEST = "3.11"
# Each with its first Python. Django is in no other file: `.venv` and each environment of tox choose one.
DJANGOS = {"django52": ("Django>=5.2,<5.3", OLDEST), "django60": ("Django>=6.0,<6.1", "3.12")}
DJANGOS |= {"django61": ("Django>=6.1,<6.2", "3.12"), "django": ("Django>=5.2,<6.2", OLDEST)}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--upgrade"]):
        print("run.py pin takes --upgrade and nothing else")
        return 2
    ALL.parent.mkdir(parents=True, exist_ok=True)
    ALL.write_text(
        "".join((REQUIREMENTS / f"{name}.txt").read_text() for name in (*EXTRAS, "django") if _is_there(name))
    )
    compile_(ALL, "--all-extras", "pyproject.toml", *arguments)
    for extra in EXTRAS:
        options = ["--constraint", str(ALL), "--no-emit-package", "django", "--upgrade"]
        compile_(REQUIREMENTS / f"{extra}.txt", "--extra", extra, "pyproject.toml", *options)
    for name, (django, python) in DJANGOS.items():
        compile_(REQUIREMENTS / f"{name}.txt", "--no-deps", "-", *arguments, python=python, given=django)
    return 0


def compile_(output: Path, *arguments: str, python: str = OLDEST, given: str = "") -> None:
    """Writes one file."""
    uv = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-annotate"]
    by = ["--python-version", python, "--custom-compile-command", "python3 run.py pin"]
    subprocess.run([*uv, *by, "--output-file", str(output), *arguments], cwd=ROOT, input=given, text=True, check=True)


def _is_there(name: str) -> bool:
    return (REQUIREMENTS / f"{name}.txt").exists()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
