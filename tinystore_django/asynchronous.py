"""The same call for a coroutine to await, as Django's own `aget` is `get`'s."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from .callsite import awaited as awaited_here

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

F = TypeVar("F", bound=Callable[..., object])


def twin(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Returns the async twin of a method: `aadd = twin(add)`.

    It runs in the thread that Django keeps for what is sync, on that thread's connections.
    """
    call = sync_to_async(method, thread_sensitive=True)

    @wraps(method)
    async def awaited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with awaited_here():
            return await call(self, *args, **kwargs)

    return _named(awaited)


def twin_iterator(
    method: Callable[Concatenate[S, P], Iterator[R]],
) -> Callable[Concatenate[S, P], AsyncGenerator[R, None]]:
    """Returns the async twin of a method that iterates: `aall = twin_iterator(all)`, for `async for`.

    It takes one item at a time, and ends the sync iterator when it is itself closed.
    """

    @wraps(method)
    async def iterated(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[R, None]:
        iterator = await sync_to_async(method, thread_sensitive=True)(self, *args, **kwargs)
        try:
            while item := await sync_to_async(_take, thread_sensitive=True)(iterator):
                yield item[0]
        finally:
            await sync_to_async(_close, thread_sensitive=True)(iterator)

    return _named(iterated)


def _take(iterator: Iterator[R]) -> tuple[R] | None:
    # Not a bare next: its StopIteration cannot pass through a coroutine.
    return next(((item,) for item in iterator), None)


def _close(iterator: Iterator[object]) -> None:
    if isinstance(iterator, Generator):
        iterator.close()


def _named(function: F) -> F:
    """Names a twin after its method, with Django's prefix: `aadd`."""
    name = function.__name__
    function.__name__ = f"a{name}"
    function.__qualname__ = f"{function.__qualname__.removesuffix(name)}a{name}"
    return function
