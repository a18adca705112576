"""Which files of a project declare queues or handlers where no worker finds them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.conf import settings

from .registry import declared

# Of a source: it names this package, and calls one of these.
PACKAGE = "tinystore_django"
CALLS = (".queue(", ".schedule(", ".handler")


def unfound() -> Iterator[tuple[Path, str]]:
    """Yields each such file, and what to do about it."""
    for folder in {Path(config.path) for config in apps.get_app_configs() if config.name != PACKAGE}:
        yield from _unfound(folder, "tasks", "rename it to jobs.py, or import it from the app's jobs.py")
    for folder in _beside_settings() - {Path(config.path) for config in apps.get_app_configs()}:
        hint = f"move it into an installed app, or add {folder.name!r} to INSTALLED_APPS"
        yield from _unfound(folder, "jobs", hint)
        yield from _unfound(folder, "tasks", "move what it declares to the jobs.py of an installed app")


def _unfound(folder: Path, module: str, hint: str) -> Iterator[tuple[Path, str]]:
    for file in (folder / f"{module}.py", folder / module / "__init__.py"):
        if file.is_file() and _declares(file) and not _is_found(file):
            yield file, hint


def _beside_settings() -> set[Path]:
    """The folder of the settings' module, and that of the package it is in."""
    name = getattr(settings, "SETTINGS_MODULE", None) or ""
    modules = [sys.modules.get(one) for one in (name, name.partition(".")[0])]
    return {Path(file).parent for one in modules if (file := getattr(one, "__file__", None))}


def _declares(file: Path) -> bool:
    source = file.read_text(errors="replace")
    return PACKAGE in source and any(call in source for call in CALLS)


def _is_found(file: Path) -> bool:
    """Whether it was imported before the apps were ready, as in a worker: later on a view may have imported it."""
    declarations = [one for one in declared() if Path(one.site[0]) == file]
    if declarations:
        return not any(one.is_late for one in declarations)
    return any(getattr(one, "__file__", None) == str(file) for one in tuple(sys.modules.values()))
