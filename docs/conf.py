"""How Sphinx builds these pages; `python3 run.py check` does."""

import tomllib
from pathlib import Path

pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]

project = "tinystore_django"
author = copyright = "tinystore_django contributors"
release = version = pyproject["version"]

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"{project} {release}"
