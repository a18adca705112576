"""The Python of a page: its blocks are one program, run from top to bottom.

How a block is marked, after its three backquotes or in an HTML comment, says what becomes of it:

    python                       runs; the tests that it defines are run, too
    python raises InvalidError   runs, and has to raise that
    python settings              a fragment of a settings module: runs alone, and our settings in it are checked
    <!-- python … -->            runs where it stands; no reader sees it

A first line such as `# shop/jobs.py` lets later blocks import from shop.jobs. The time stands still; what no reader
sees may move it, `_clock.advance("1h")`.
"""

from __future__ import annotations

import inspect
import re
import sys
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakSet

import pytest
from django.db import transaction
from django.test import override_settings

import tinystore_django
from tinystore_django import checks, registry, stores

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python[^\n]*)\n(.*?)^```$|^<!-- (python[^\n]*)\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
# Whatever a renderer would colour as Python, or an author may have meant so.
MEANT = re.compile(r"^[ >]*(?:```+|~~~+|<!--) *\{?py|^[ >]*(?:```+|~~~+)\{code", re.MULTILINE | re.IGNORECASE)
FILE = re.compile(r"# ([a-z_/]+)\.py\n")


@dataclass(frozen=True)
class Block:
    """A block of Python, and the line of its page that it begins at."""

    page: Path
    line: int
    mark: str
    code: str
    shown: bool

    def run(self, namespace: dict[str, Any]) -> None:
        # Blank lines above it, so that a traceback names the page's own lines.
        exec(compile("\n" * (self.line - 1) + self.code, self.page, "exec"), namespace)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The page's blocks in order. Raises ValueError if one looks like Python and is not marked as it has to be."""
    text = page.read_text()
    found = [_block(page, text, match) for match in BLOCK.finditer(text)]
    if len(found) != len(MEANT.findall(text)):
        raise ValueError(f"{page}: a block of Python is indented, nested or marked otherwise than ```python")
    return found


def _block(page: Path, text: str, match: re.Match[str]) -> Block:
    shown, hidden = match.group(1, 2), match.group(3, 4)
    mark, code = shown if shown[0] else hidden
    return Block(page, text.count("\n", 0, match.start()) + 2, mark.strip(), code, bool(shown[0]))


def runs(page: Path) -> bool:
    """Whether the page has a block that a reader sees and that runs as a program."""
    return any(block.shown and block.mark == "python" for block in blocks(page))


def run_page(page: Path, fixture: Callable[[str], Any], patch: pytest.MonkeyPatch) -> None:
    """Runs a page's blocks in a project of their own: no queue of another page is declared there."""
    patch.setattr(registry, "_registries", WeakSet())
    patch.setattr(stores, "store", stores.Store())
    module = ModuleType("page")
    patch.setitem(sys.modules, "page", module)
    # The fixture that a page's own tests may ask for too: there is one clock, set free when the last has used it.
    vars(module)["_clock"] = fixture("tinystore_clock")
    for block in blocks(page):
        if named := FILE.match(block.code):
            patch.setitem(sys.modules, named[1].replace("/", "."), module)
        _run(block, module, fixture)


def _run(block: Block, module: ModuleType, fixture: Callable[[str], Any]) -> None:
    kind, _, rest = block.mark.removeprefix("python").strip().partition(" ")
    if kind == "":
        before = dict(vars(module))
        block.run(vars(module))
        _run_tests(module, before, fixture)
    elif kind == "raises":
        with pytest.raises(_error(rest)):
            block.run(vars(module))
    elif kind == "settings":
        _run_settings(block)
    else:
        raise ValueError(f"{block.page}:{block.line}: ```{block.mark}: write python, python raises X, python settings")


def _error(name: str) -> type[Exception]:
    error: type[Exception] = getattr(tinystore_django, name)
    return error


def _run_settings(block: Block) -> None:
    given = {"BASE_DIR": ROOT}
    block.run(given)
    chosen = {name: value for name, value in given.items() if name.isupper() and name != "BASE_DIR"}
    assert chosen, f"{block.page}:{block.line}: sets nothing"
    with override_settings(TINYSTORE=chosen.get("TINYSTORE", {})):
        assert checks.check_settings() == []


def _run_tests(module: ModuleType, before: dict[str, Any], fixture: Callable[[str], Any]) -> None:
    """Runs the tests that a block has just defined, each as a test runner would."""
    new = [value for name, value in vars(module).items() if before.get(name) is not value]
    for value in new:
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value) and issubclass(value, unittest.TestCase):
            _run_case(value)
        elif inspect.isfunction(value) and value.__name__.startswith("test_"):
            _run_function(value, fixture)


def _run_case(case: type[unittest.TestCase]) -> None:
    result = unittest.defaultTestLoader.loadTestsFromTestCase(case).run(unittest.TestResult())
    problems = [text for _, text in [*result.errors, *result.failures]]
    assert not problems, "\n".join(problems)
    assert result.testsRun, f"{case.__name__} has no test"


def _run_function(test: Callable[..., None], fixture: Callable[[str], Any]) -> None:
    arguments = [fixture(name) for name in inspect.signature(test).parameters]
    with transaction.atomic():
        test(*arguments)
        transaction.set_rollback(True)
