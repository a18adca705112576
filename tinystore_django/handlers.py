"""A function that runs jobs: how it is to be called, found out when it is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asgiref.sync import iscoroutinefunction

from .errors import InvalidError, brief, quoted

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Handler:
    """A function that runs jobs, and how to call it."""

    fn: Callable[..., Any]
    takes_run: bool
    is_async: bool
    atomic: bool = False


def handler_of(fn: Callable[..., Any], of: str, values: int, atomic: bool = False) -> Handler:
    """Returns the handler that a function makes; `of` is what it is of, `values` how many it is given beside the run.

    Raises InvalidError if it cannot be one.
    """
    if not callable(fn):
        raise InvalidError(f"handler {quoted(fn)} of {of}: give a function")
    is_async = iscoroutinefunction(fn) or iscoroutinefunction(type(fn).__call__)
    if is_async and atomic:
        raise InvalidError(
            f"handler {named(fn)} is async, and Django's transactions are not: write a sync one for atomic=True"
        )
    return Handler(fn, _takes_run(fn, of, values), is_async, atomic)


def named(fn: Callable[..., Any]) -> str:
    """Returns a function's name, and where it is written if that is known."""
    name = brief(getattr(fn, "__qualname__", None) or quoted(fn), 120)
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def _takes_run(fn: Callable[..., Any], of: str, values: int) -> bool:
    try:
        # A wrapper's own, and that of what it passes its arguments on to.
        outer, inner = inspect.signature(fn, follow_wrapped=False), inspect.signature(fn)
    except (TypeError, ValueError):  # a builtin without one
        return False
    passed_on = inner if _binds(outer, values + 1) else outer
    takes_run = _binds(passed_on, values + 1)
    wanted = "(value) or (value, run)" if values else "() or (run)"
    if not (_binds(outer, values + takes_run) and _binds(passed_on, values + takes_run)):
        raise InvalidError(f"handler {named(fn)} of {of} takes {brief(str(passed_on))}: write it as {wanted}")
    if takes_run:
        _check_place(passed_on, values, f"handler {named(fn)} of {of}", wanted)
    return takes_run


def _check_place(signature: inspect.Signature, place: int, handler: str, wanted: str) -> None:
    """Checks that what would get the run is not meant for something else."""
    for one in [one for one in signature.parameters.values() if one.kind in POSITIONAL][place : place + 1]:
        if one.name != "run" and "run" in signature.parameters:
            takes = brief(str(signature))
            raise InvalidError(f"{handler} takes {takes}: it would get the run as {one.name!r}, write it as {wanted}")
        if one.name != "run" and one.default is not one.empty:
            raise InvalidError(
                f"{handler} would get the run as {one.name!r}, which has a default: "
                f"name it run, or write * before it to keep its default"
            )


def _binds(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
