"""The log of this package. A line that cannot be logged costs the line, and never the thread that logs it."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import suppress
from typing import Any


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger whose calls raise nothing, whatever a filter, a formatter or a handler of the project's raises."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log as a logger does, in the name of the caller."""
        try:
            if self.logger.isEnabledFor(level):
                stacklevel = kwargs.pop("stacklevel", 1) + 1
                self.logger.log(level, msg, *args, stacklevel=stacklevel, **kwargs)
        except BaseException as error:  # SystemExit, too: a run whose end was to be logged would not be settled
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise
            _print_instead(msg, args, error)


def _print_instead(msg: object, args: tuple[object, ...], error: BaseException) -> None:
    with suppress(BaseException):  # a handler may have closed it, and there is nothing else to tell
        text = str(msg) % args if args else str(msg)
        print(f"tinystore_django: {text}\n(not logged: {type(error).__name__}: {error})", file=sys.stderr)


logger = Log(logging.getLogger("tinystore_django"))
