"""The rules of the house that no other tool holds."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tinystore_django

PACKAGE = Path(tinystore_django.__file__).parent
ROOT = Path(__file__).resolve().parent.parent
RAW_SQL = re.compile(r"\.cursor\(|\.raw\(|\bRawSQL\b|\.extra\(")
WITHOUT_DATABASE = ["errors", "timing", "values", "options", "jobs"]
MOST_LINES = 250


def test_raw_sql_is_written_in_databases_only() -> None:
    outside = [path for path in sources() if path.parts[0] != "databases"]

    assert [str(path) for path in outside if RAW_SQL.search(read(path))] == []


def test_no_file_has_more_than_one_idea() -> None:
    long = [str(path) for path in sources() if len(read(path).splitlines()) > MOST_LINES]

    assert long == []


def test_importing_the_package_needs_no_loaded_apps() -> None:
    assert runs("import tinystore_django") == ""


def test_every_public_name_is_there() -> None:
    assert [name for name in tinystore_django.__all__ if not hasattr(tinystore_django, name)] == []


def test_the_default_store_is_not_hidden_by_a_module_of_its_name() -> None:
    assert isinstance(tinystore_django.store, tinystore_django.Store)


@pytest.mark.parametrize("module", WITHOUT_DATABASE)
def test_a_module_about_values_and_times_needs_no_database_layer(module: str) -> None:
    question = f"import sys, tinystore_django.{module}; print([m for m in sys.modules if m == 'django.db'])"

    assert runs(question) == "[]"


@pytest.mark.checkout
def test_the_wheel_has_every_file_of_the_package_and_nothing_else(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert names == {f"tinystore_django/{path}" for path in files()}
    assert "tinystore_django/py.typed" in names
    assert any(name.startswith("tinystore_django/migrations/0001_") for name in names)
    assert {f"tinystore_django/locale/{language}/LC_MESSAGES/django.mo" for language in ("de", "fr")} <= names


def sources() -> list[Path]:
    return [path for path in files() if path.suffix == ".py" and path.parts[0] != "migrations"]


def files() -> list[Path]:
    """Every file of the package, relative to it."""
    every = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_file())
    return sorted(path for path in every if "__pycache__" not in path.parts)


def read(path: Path) -> str:
    return (PACKAGE / path).read_text()


def runs(code: str) -> str:
    """What a fresh Python prints, without settings and apps."""
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert asked.returncode == 0, asked.stderr
    return asked.stdout.strip()
