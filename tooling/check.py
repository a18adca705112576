"""`run.py check`: what gates a change beside its tests. Each check has a line; what failed is listed last."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = {
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "ruff": ["-m", "ruff", "check", "."],
    "mypy": ["-m", "mypy"],
    "pyright": ["-m", "tooling.typed"],
    "import-linter": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
    "migrations": ["-m", "django", "makemigrations", "tinystore_django", "--check", "--dry-run"],
    "docs": ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "build/docs"],
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"no check is named {', '.join(unknown)}: write {', '.join(CHECKS)}")
        return 2
    failed = [name for name in names or CHECKS if not passes(name)]
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nevery check passed")
    return 1 if failed else 0


def passes(name: str) -> bool:
    """Runs one check and prints its line; what it said, only if it failed."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, *CHECKS[name]],
        check=False,
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "TINYSTORE_TEST_DATABASE": "sqlite"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = "ok" if done.returncode == 0 else f"FAILED\n{done.stdout}"
    print(f"{name} ({time.monotonic() - started:.1f} s): {said}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
