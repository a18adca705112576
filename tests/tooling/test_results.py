from __future__ import annotations

from pathlib import Path

import pytest

from tooling.results import Result, read, total, with_exit
from tooling.test import report

CASES = """<testsuites><testsuite>
<testcase classname="tests.a" name="passes"/>
<testcase classname="tests.a" name="fails"><failure message="no"/></testcase>
<testcase classname="tests.a" name="breaks"><error message="no"/></testcase>
<testcase classname="tests.a" name="skips"><skipped type="pytest.skip" message="no chromium"/></testcase>
<testcase classname="tests.a" name="is known"><skipped type="pytest.xfail" message="later"/></testcase>
</testsuite></testsuites>"""


def test_a_report_is_counted_and_its_skipped_tests_are_named(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(CASES)

    assert read("sqlite", junit) == Result(1, 2, 2, ("sqlite: tests.a::skips: no chromium",))


def test_a_process_that_left_no_report_is_a_failure(tmp_path: Path) -> None:
    result = read("sqlite", tmp_path / "none.xml")

    assert (result.failed, result.not_run) == (1, ("sqlite: pytest ended before it had a result",))


def test_an_exit_code_that_no_failed_test_explains_is_a_failure() -> None:
    assert with_exit("sqlite", Result(passed=2), 3).failed == 1
    assert with_exit("sqlite", Result(passed=2, failed=1), 1) == Result(passed=2, failed=1)
    assert with_exit("sqlite", Result(), 5) == Result()


def test_results_add_up() -> None:
    results = [Result(1, 2, 3, ("a",)), Result(10, 20, 30, ("b",))]

    assert total(results) == Result(11, 22, 33, ("a", "b"))


@pytest.mark.parametrize(
    ("result", "ci", "code"),
    [
        (Result(passed=1), "true", 0),
        (Result(passed=1, failed=1), "", 1),
        (Result(passed=1, skipped=1, not_run=("browser",)), "", 0),
        (Result(passed=1, skipped=1, not_run=("browser",)), "true", 1),
        (Result(), "", 1),
    ],
)
def test_the_total_stands_alone_and_what_did_not_run_comes_last(
    result: Result, ci: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)

    assert report(result) == code

    lines = capsys.readouterr().out.splitlines()
    assert str(result) in lines
    if result.not_run:
        assert lines[-1] == "NOT RUN: browser"
