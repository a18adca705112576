"""Copies what the tests read into a folder without the package: there, only the installed one is found."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tests", "tooling", "docs", "example_project")
FILES = ("pyproject.toml", "README.md")


def main(target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    leave = shutil.ignore_patterns("__pycache__", "_build")
    for name in FOLDERS:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, target / name, ignore=leave)
    for name in FILES:
        shutil.copy(ROOT / name, target / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
