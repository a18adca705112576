from __future__ import annotations

import pytest

from tooling.matrix import Place, plan, report
from tooling.results import Result


def names(places: list[Place]) -> list[str]:
    return [place.name for place in places]


def test_the_oldest_django_runs_at_both_ends_the_newest_on_the_newest_and_what_is_between_on_its_oldest() -> None:
    assert names(plan([(3, 11), (3, 12), (3, 13)])) == [
        "py311-django52",
        "py313-django52",
        "py312-django60",
        "py313-django61",
    ]


def test_a_django_runs_once_where_one_interpreter_is_both_its_oldest_and_its_newest() -> None:
    assert names(plan([(3, 12)])) == ["py312-django52", "py312-django60", "py312-django61"]


def test_an_interpreter_newer_than_a_django_supports_is_not_planned_for_it() -> None:
    assert names(plan([(3, 11), (3, 15)])) == ["py311-django52"]


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_django_that_no_interpreter_supports_is_told_of_and_is_no_failure(
    ci: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)

    code = report({Place("5.2", (3, 11)): Result(passed=3)})

    assert code == 0
    assert "NOT RUN: Django 6.0: it runs on Python 3.12 to 3.14" in capsys.readouterr().out


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_an_environment_without_a_test_that_ran_is_a_failure_in_ci(
    ci: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)

    assert report({Place("5.2", (3, 11)): Result(passed=3), Place("6.0", (3, 12)): Result()}) == code
    assert "NOT RUN: py312-django60: none of its tests ran" in capsys.readouterr().out
