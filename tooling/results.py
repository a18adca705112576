"""What pytest runs came to, read from the JUnit files they left."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# pytest's exit code when a selection leaves no test.
NO_TESTS = 5


@dataclass(frozen=True)
class Result:
    """Counted tests, and in words what could not be run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    not_run: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    @property
    def ran(self) -> int:
        return self.passed + self.failed


def total(results: Iterable[Result]) -> Result:
    every = list(results)
    return Result(
        sum(result.passed for result in every),
        sum(result.failed for result in every),
        sum(result.skipped for result in every),
        tuple(line for result in every for line in result.not_run),
    )


def read(name: str, junit: Path) -> Result:
    """What one pytest process came to, by the JUnit file it left."""
    if not junit.exists():
        return Result(failed=1, not_run=(f"{name}: pytest ended before it had a result",))
    return _counted(name, ET.parse(junit).getroot())


def with_exit(name: str, result: Result, code: int) -> Result:
    """The same result, failed if only the exit code tells so."""
    if code in (0, NO_TESTS) or result.failed:
        return result
    return total([result, Result(failed=1, not_run=(f"{name}: ended with {code} though no test failed",))])


def _counted(name: str, root: ET.Element) -> Result:
    cases = list(root.iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None and case not in failed]
    return Result(
        len(cases) - len(failed) - len(skipped),
        len(failed),
        len(skipped),
        tuple(f"{name}: {_words(case)}" for case in skipped if _is_a_gap(case)),
    )


def _is_a_gap(case: ET.Element) -> bool:
    """Whether a test was skipped; one that is known to fail (xfail) did run."""
    return any(skip.get("type") != "pytest.xfail" for skip in case.iter("skipped"))


def _words(case: ET.Element) -> str:
    reason = "; ".join(skip.get("message", "") for skip in case.iter("skipped"))
    return f"{case.get('classname')}::{case.get('name')}: {reason}"
