"""Every Python block of README.md and docs/ runs: what a reader copies works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks, name_of, pages, run_page, runs

# Pages about the project rather than its use. On every other one something runs.
PROSE = {
    "docs/architecture.md",
    "docs/changelog.md",
    "docs/comparison.md",
    "docs/contributing.md",
    "docs/explanation/glossary.md",
    "docs/explanation/how-a-job-lives.md",
    "docs/how-to/troubleshooting.md",
    "docs/how-to/upgrading.md",
    "docs/index.md",
    "docs/reference/index.md",
    "docs/releasing.md",
}

CASE = "from unittest import TestCase\nclass Its(TestCase):"

everywhere = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@everywhere
@pytest.mark.parametrize("page", [page for page in pages() if name_of(page) not in PROSE], ids=name_of)
def test_every_python_block_of_a_page_runs(
    page: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page(page, request.getfixturevalue, monkeypatch)


def test_every_page_runs_something_but_those_about_the_project() -> None:
    assert {name_of(page) for page in pages() if not runs(page)} == PROSE


def test_no_block_of_python_is_overlooked() -> None:
    assert sum(len(blocks(page)) for page in pages()) > len(pages())


def test_every_link_of_the_readme_to_a_page_leads_to_one() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text())

    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


@everywhere
@pytest.mark.parametrize(
    "text",
    [
        "```python\nassert 1 == 2\n```\n",
        "<!-- python\nassert 1 == 2\n-->\n",
        "```python\nimport no_such_module\n```\n",
        "```python\ndef test_it():\n    assert 1 == 2\n```\n",
        f"```python\n{CASE}\n    def test_it(self):\n        self.fail()\n```\n",
        f"```python\n{CASE}\n    pass\n```\n",
        "```python settings\nTINYSTORE = {'LEESE': '30s'}\n```\n",
        "```python settings\nx = 1\n```\n",
    ],
    ids=["shown", "hidden", "import", "function", "case", "empty case", "setting", "no setting"],
)
def test_a_page_with_a_block_that_fails_fails(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((AssertionError, ImportError)):
        run_page(page_of(text, tmp_path), only_a_clock, monkeypatch)


@everywhere
def test_a_block_that_should_raise_and_does_not_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of("```python raises InvalidError\nx = 1\n```\n", tmp_path)

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        run_page(page, only_a_clock, monkeypatch)


@pytest.mark.parametrize(
    "text", ["  ```python\n  x = 1\n  ```\n", "```py\nx = 1\n```\n", "```{code-block} python\nx = 1\n```\n"]
)
def test_a_block_marked_otherwise_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="marked otherwise"):
        blocks(page_of(text, tmp_path))


@pytest.mark.parametrize("text", ["words\n", "```python settings\nX = 1\n```\n", "<!-- python\nx = 1\n-->\n"])
def test_a_page_of_which_a_reader_sees_nothing_run_is_noticed(text: str, tmp_path: Path) -> None:
    assert not runs(page_of(text, tmp_path))


def page_of(text: str, folder: Path) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


def only_a_clock(fixture: str) -> None:
    """For pages whose blocks ask for nothing, and move no clock."""
    if fixture != "tinystore_clock":
        raise LookupError(f"asked for {fixture}")
