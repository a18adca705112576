"""The Pythons of this machine: tox by itself misses those that are not on PATH, and still ends well."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

Version = tuple[int, int]

OLDEST: Version = (3, 11)
PLACES = (
    "~/.pyenv/versions/3.*/bin/python3",
    "~/.local/share/uv/python/*/bin/python3",
    "/usr/local/bin/python3.1?",
    "/usr/bin/python3.1?",
)
QUESTION = "import sys; v = sys.version_info; print(v[0], v[1], v[2], v[3] == 'final')"


def find() -> dict[Version, Path]:
    """One interpreter for each version, 3.11 and later: the newest release where there are several."""
    releases: dict[Version, tuple[int, Path]] = {}
    for path in _candidates():
        answer = _ask(path)
        if answer and answer[:2] >= OLDEST:
            version, release = answer[:2], (answer[2], path)
            releases[version] = max(releases.get(version, release), release, key=lambda known: known[0])
    return {version: releases[version][1] for version in sorted(releases)}


def _candidates() -> Iterator[Path]:
    """Paths that may be interpreters; a version manager's shim may turn out to be none."""
    root = os.environ.get("PYENV_ROOT")
    patterns = [f"{root}/versions/3.*/bin/python3", *PLACES] if root else list(PLACES)
    for pattern in patterns:
        expanded = Path(pattern).expanduser()
        yield from sorted(Path("/").glob(str(expanded.relative_to("/"))))
    for minor in range(OLDEST[1], 20):
        if found := shutil.which(f"python3.{minor}"):
            yield Path(found)


def _ask(path: Path) -> tuple[int, int, int] | None:
    """The version an interpreter says it is, or None if it is a pre-release or cannot be run."""
    try:
        said = subprocess.check_output([path, "-c", QUESTION], stderr=subprocess.DEVNULL, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    words = said.split()
    if words[3:] != ["True"]:
        return None
    return int(words[0]), int(words[1]), int(words[2])
