"""`python -m tooling.release v0.1.0`: whether pyproject, the package and the changelog agree on what a tag releases."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATED = re.compile(r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)$", re.MULTILINE)


def main(tag: str) -> int:
    wrong = disagreements(ROOT, tag)
    print("\n".join(wrong) or f"{tag} can be released")
    return 1 if wrong else 0


def disagreements(root: Path, tag: str) -> list[str]:
    """Return a line for each place that does not say the tag's version."""
    version = tag.removeprefix("v")
    said = {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"],
        "tinystore_django/version.py": _assigned((root / "tinystore_django" / "version.py").read_text()),
    }
    wrong = [f"{place} says {found}, the tag {version}" for place, found in said.items() if found != version]
    if version not in DATED.findall((root / "docs" / "changelog.md").read_text()):
        wrong.append(f"docs/changelog.md has no heading '## {version} (YYYY-MM-DD)'")
    return wrong


def _assigned(module: str) -> str:
    found = re.search(r'^__version__ = "(.+)"$', module, re.MULTILINE)
    return found[1] if found else "no version"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
