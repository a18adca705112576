"""A child process that a handler forks, and that comes out of the handler: it is no worker, and ends there."""

from __future__ import annotations

import os
import traceback

from .farewell import leave


class OneProcess:
    """A context manager around a handler's call. A child that leaves it ends: with 0, or as Python would for what it
    raised."""

    def __enter__(self) -> None:
        self._process = os.getpid()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if os.getpid() != self._process:
            leave(_code(error))


def _code(error: BaseException | None) -> int:
    if error is None:
        return 0
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        return error.code or 0
    traceback.print_exception(error)
    return 1
