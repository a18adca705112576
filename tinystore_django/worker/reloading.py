"""Starts the worker again when its code changes, as runserver does, but in the same process: its pid stays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.utils import autoreload

from ..log import logger
from ..values.log_lines import Lines


class Reloading:
    """Watches the modules that are loaded, and asks for a stop once changed code can be loaded in their place."""

    def __init__(self, ask_to_stop: Callable[[], object]) -> None:
        self.wanted = False
        self._ask_to_stop = ask_to_stop

    def start(self) -> None:
        autoreload.file_changed.connect(self._on_change)
        threading.Thread(target=self._watch, name="tinystore-reloading", daemon=True).start()

    def restart(self) -> None:
        """Becomes a new process with the same arguments and the same pid."""
        arguments = autoreload.get_child_arguments()
        os.execv(arguments[0], arguments)

    def _watch(self) -> None:
        reloader = _Reloader()
        autoreload.autoreload_started.send(sender=reloader)
        reloader.run_loop()

    def _on_change(self, file_path: Path, **kwargs: Any) -> bool | None:
        if file_path.suffix != ".py":
            return None  # a template or a translation: Django's own receivers know what to do
        if not self.wanted and self._loads(file_path):
            self.wanted = True
            self._ask_to_stop()
        return True  # or Django would end the process

    def _loads(self, changed: Path) -> bool:
        # Code that does not load would end this worker; it goes on with the old code until the next change.
        check = subprocess.run([*_manage(), "check"], capture_output=True, text=True)
        if check.returncode:
            logger.error("%s changed, but does not load yet:\n%s", changed, Lines(check.stderr.strip()))
        else:
            logger.info("%s changed: starting again", changed)
        return check.returncode == 0


class _Reloader(autoreload.StatReloader):
    """Notices, too, what changed after it was loaded and before the first look at it."""

    def __init__(self) -> None:
        super().__init__()
        config: Any = apps.get_app_config("tinystore_django")
        self._loaded_at: float | None = config.loaded_at

    def snapshot_files(self) -> Iterator[tuple[Path, float]]:
        loaded_at, self._loaded_at = self._loaded_at, None
        for file, changed_at in super().snapshot_files():
            # A time that is still to come is another machine's: taken for a change, it would be one at every start.
            unseen = loaded_at is not None and loaded_at < changed_at <= time.time()
            yield file, loaded_at if unseen and loaded_at else changed_at


def _manage() -> list[str]:
    """The command line up to, and without, the name of the management command."""
    arguments = autoreload.get_child_arguments()
    return arguments[: len(arguments) - len(sys.argv) + 1]
