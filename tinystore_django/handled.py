"""The exception that a handler is handling when it answers."""

from __future__ import annotations

import sys

from .control import Control


def handled_in(control: Control) -> BaseException | None:
    """Return the exception that the handler is handling, unless whoever called `run_due` is handling that very one."""
    handled = sys.exception()
    return None if handled is control.handled_outside else handled


def link(error: BaseException, handled: BaseException) -> None:
    """Have an exception that was made and not raised tell in whose handling, as `raise` does."""
    if error.__traceback__ is None and error.__context__ is None and not _is_among(error, handled):
        error.__context__ = handled


def _is_among(error: BaseException, chain: BaseException | None) -> bool:
    seen = set[int]()
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        if chain is error:
            return True
        chain = chain.__cause__ or chain.__context__
    return False
