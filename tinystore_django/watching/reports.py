"""watch and awatch: a job as it is, and again each time it changes, to its end."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async

from ..databases import database
from ..errors import InvalidError, quoted
from ..jobs import Job
from ..lifecycle.sighting import Sight, first
from ..registry import Declaration
from ..timing.durations import Span, duration
from ..values import is_text, may_name
from .hub import shown_to
from .watchers import Alone, Deadline, InLoop, InThread


def deadline(timeout: float | Span | None) -> Deadline:
    """When a watch that begins now ends.

    Raises:
        InvalidError: the timeout is neither a number of seconds from 0 nor a span.
    """
    if isinstance(timeout, (str, timedelta)):
        return Deadline(duration(timeout, "timeout") / 1e6)
    if timeout is None or (type(timeout) in (int, float) and 0 <= timeout <= sys.float_info.max):
        return Deadline(timeout)
    raise InvalidError(f"timeout {quoted(timeout)}: write seconds, such as 30 or 0.5, or a span, such as '1m'")


def watch(declaration: Declaration, key: str, until: Deadline) -> Iterator[Job[Any]]:
    """Gives a report of each change, in the calling thread. Raises InvalidError at once where the id is no text."""
    may_name(key)
    return _watch(declaration, key, until)


def _watch(declaration: Declaration, key: str, until: Deadline) -> Iterator[Job[Any]]:
    sight, alone = _begin(declaration, key)
    if sight is None:
        return
    watcher = InThread(declaration.name, sight)
    following = Alone(declaration.alias) if alone else watcher
    with nullcontext() if alone else shown_to(declaration.alias, watcher):
        while sight is not None and not sight.lost:
            yield sight.job
            sight = None if sight.over else following.next(sight, until)


def awatch(
    declaration: Declaration,
    key: str,
    until: Deadline,
    idle: float | None = None,
    begun: Callable[[], object] = lambda: None,
) -> AsyncGenerator[Job[Any] | None, None]:
    """Gives a report of each change, in a coroutine; None after `idle` seconds without one. `begun` is called after
    the first look, in the thread that Django keeps for what is sync. Raises InvalidError as `watch` does."""
    may_name(key)
    return _awatch(declaration, key, until, idle, begun)


async def _awatch(
    declaration: Declaration, key: str, until: Deadline, idle: float | None, begun: Callable[[], object]
) -> AsyncGenerator[Job[Any] | None, None]:
    def begin() -> tuple[Sight | None, bool]:
        answer = _begin(declaration, key)
        begun()
        return answer

    sight, alone = await sync_to_async(begin)()
    if sight is None:
        return
    watcher = InLoop(declaration.name, sight)
    following = Alone(declaration.alias) if alone else watcher
    shown: Sight | None = None
    with nullcontext() if alone else shown_to(declaration.alias, watcher):
        while sight is not None and not sight.lost:
            yield None if sight is shown else sight.job
            shown = sight
            sight = None if sight.over else await following.anext(sight, until, idle)


def _begin(declaration: Declaration, key: str) -> tuple[Sight | None, bool]:
    alias = declaration.alias
    if not is_text(key):  # no job can have it
        return None, False
    return first(alias, declaration.name, key, declaration.codec, declaration.options.group), database(alias).is_alone()
