"""The pinned versions: complete, of pyproject.toml's ranges, and the same for every Python and system."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tooling.pin import DJANGOS, EXTRAS, REQUIREMENTS, ROOT, main

pytestmark = pytest.mark.checkout

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
FILES = (*EXTRAS, *DJANGOS)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned(name: str) -> dict[Requirement, list[str]]:
    """The requirements of a file, each with its hashes."""
    text = "\n".join(line for line in read(name).splitlines() if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    return {Requirement(line.split(" --hash=")[0].strip()): line.split(" --hash=")[1:] for line in lines}


def read(name: str) -> str:
    return (REQUIREMENTS / f"{name}.txt").read_text()


def on(python: str, requirements: Iterable[Requirement]) -> dict[str, Requirement]:
    """Those that are installed on a Python, by name."""
    here = {"python_version": python, "python_full_version": f"{python}.9", "os_name": "posix"}
    fit = [one for one in requirements if one.marker is None or one.marker.evaluate(here)]
    assert len({canonicalize_name(one.name) for one in fit}) == len(fit)
    return {canonicalize_name(one.name): one for one in fit}


@pytest.mark.parametrize("name", FILES)
def test_each_requirement_is_one_version_with_the_hashes_of_its_files(name: str) -> None:
    requirements = pinned(name)

    assert requirements
    for requirement, hashes in requirements.items():
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), requirement


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_no_place_to_fetch_from(name: str) -> None:
    assert not re.search(r"://|@ |index|\.(org|com|net|io)\b", read(name))


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_pinned_is_of_the_ranges(extra: str, python: str) -> None:
    there = on(python, [*pinned(extra), *pinned("django")])
    ranges = [Requirement(text) for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"][extra]]

    for one in ranges:
        assert str(there[canonicalize_name(one.name)].specifier).removeprefix("==") in one.specifier, one


@pytest.mark.parametrize("python", PYTHONS)
def test_files_that_are_installed_together_agree(python: str) -> None:
    versions: dict[str, str] = {}
    for extra in EXTRAS:
        for name, one in on(python, pinned(extra)).items():
            assert versions.setdefault(name, str(one.specifier)) == str(one.specifier), name


@pytest.mark.parametrize("extra", EXTRAS)
def test_django_is_in_no_file_but_its_own(extra: str) -> None:
    assert "django" not in {canonicalize_name(one.name) for one in pinned(extra)}


@pytest.mark.parametrize(("name", "python"), [(name, python) for name, (_, python) in DJANGOS.items()])
def test_each_django_is_of_its_release(name: str, python: str) -> None:
    django = on(python, pinned(name))["django"]

    assert str(django.specifier).removeprefix("==") in Requirement(DJANGOS[name][0]).specifier


def test_there_is_no_other_file() -> None:
    assert {path.stem for path in Path(REQUIREMENTS).iterdir()} == set(FILES)


def test_the_command_takes_nothing_that_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--newest"]) == 2
    assert "--upgrade" in capsys.readouterr().out
