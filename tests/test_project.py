"""What the checkout has around the package: its forge's files, its versions, its links."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tooling.release import disagreements

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r'"([a-z-]+)==([0-9.]+)"')
FRONT = ["README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"]

pytestmark = [pytest.mark.checkout, pytest.mark.once]


def test_pre_commit_has_the_versions_of_the_checks() -> None:
    checks = dict(PINNED.findall((ROOT / "pyproject.toml").read_text()))
    hooks = PINNED.findall((ROOT / ".pre-commit-config.yaml").read_text())

    assert hooks
    assert [(name, version) for name, version in hooks if checks.get(name) != version] == []


def test_the_forge_runs_what_gates_a_change_elsewhere() -> None:
    assert "run: bash .ci/run\n" in (ROOT / ".github/workflows/ci.yml").read_text()


@pytest.mark.parametrize("name", FRONT)
def test_every_link_of_a_page_at_the_root_leads_to_a_file(name: str) -> None:
    page = (ROOT / name).resolve()
    links = re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text())

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_changelog_at_the_root_is_that_of_the_docs() -> None:
    assert (ROOT / "CHANGELOG.md").read_text() == (ROOT / "docs/changelog.md").read_text()


def test_the_source_distribution_has_the_pages_at_the_root() -> None:
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]

    assert {f"/{name}" for name in FRONT} <= set(included["include"])


def released(
    root: Path, *, pyproject: str = "1.2.0", module: str = "1.2.0", heading: str = "1.2.0 (2026-12-01)"
) -> Path:
    """A checkout that says these versions."""
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{pyproject}"\n')
    (root / "tinystore_django").mkdir()
    (root / "tinystore_django" / "version.py").write_text(f'__version__ = "{module}"\n')
    (root / "docs").mkdir()
    (root / "docs" / "changelog.md").write_text(f"# Changelog\n\n## {heading}\n")
    return root


def test_a_tag_that_all_agree_on_can_be_released(tmp_path: Path) -> None:
    assert disagreements(released(tmp_path), "v1.2.0") == []


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"pyproject": "1.1.0"}, "pyproject.toml says 1.1.0"),
        ({"module": "1.1.0"}, "version.py says 1.1.0"),
        ({"heading": "1.2.0 (unreleased)"}, "changelog.md has no heading"),
    ],
)
def test_a_place_that_says_another_version_is_named(wrong: dict[str, str], place: str, tmp_path: Path) -> None:
    [line] = disagreements(released(tmp_path, **wrong), "v1.2.0")

    assert place in line
