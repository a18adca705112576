"""The `pyright` of `run.py check`: the types that a user's code meets, in tests/typing and in every page's Python.

A page becomes one module below build/, with its blocks at their own lines, so that an error names the page's line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "docs_programs"
# The clock that `tests/docs` gives each page.
CLOCK = "from tinystore_django.testing import clock as _opened; _clock = _opened().__enter__()"


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    write_programs()
    return subprocess.call([sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable], cwd=ROOT)


def write_programs() -> None:
    """Write each page that has Python as a module."""
    # The reader of pages asks the app for its queues, so it cannot be imported before Django is set up.
    from tests.docs.pages import name_of, pages

    shutil.rmtree(PROGRAMS, ignore_errors=True)
    PROGRAMS.mkdir(parents=True)
    for page in pages():
        if (text := program(page)) != CLOCK:
            name = Path(name_of(page)).with_suffix("").as_posix().replace("/", "_")
            (PROGRAMS / f"{name}.py").write_text(text)


def program(page: Path) -> str:
    """Return the page's Python that runs, without the imports of modules that the page itself defines."""
    from tests.docs.pages import FILE, blocks

    text = CLOCK
    own: list[str] = []
    for block in blocks(page):
        if block.mark == "python":
            own += [named[1].replace("/", ".") for named in [FILE.match(block.code)] if named]
            text += "\n" * (block.line - 1 - text.count("\n")) + block.code
    for module in own:
        text = re.sub(rf"^from {re.escape(module)} import .*$", "", text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    sys.exit(main())
