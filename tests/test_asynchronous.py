"""The twins that a coroutine awaits."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Coroutine, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from tinystore_django.asynchronous import twin, twin_iterator


class Counter:
    """Counts, and remembers what was done to it and in which thread."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.threads: set[int] = set()

    def add(self, number: int, *, twice: bool = False) -> int:
        """Adds a number."""
        self.threads.add(threading.get_ident())
        if number < 0:
            raise ValueError("a number below zero")
        return number * 2 if twice else number

    aadd = twin(add)

    def count(self, end: int, *, broken_at: int | None = None) -> Iterator[int | None]:
        """Counts to a number."""
        try:
            for number in range(end):
                if number == broken_at:
                    raise ValueError("broken")
                self.threads.add(threading.get_ident())
                self.done.append(f"made {number}")
                yield number or None
        finally:
            self.threads.add(threading.get_ident())
            self.done.append("closed")

    acount = twin_iterator(count)

    def parts(self) -> Iterator[str]:
        return iter(["a", "b"])

    aparts = twin_iterator(parts)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def test_a_twin_answers_what_the_method_answers() -> None:
    assert run(Counter().aadd(3)) == 3
    assert run(Counter().aadd(3, twice=True)) == 6


def test_a_twin_raises_what_the_method_raises() -> None:
    with pytest.raises(ValueError, match="a number below zero"):
        run(Counter().aadd(-1))


def test_a_twin_bears_the_methods_name_prefixed_and_its_docstring() -> None:
    assert Counter.aadd.__name__ == "aadd"
    assert Counter.aadd.__qualname__ == "Counter.aadd"
    assert Counter.aadd.__doc__ == "Adds a number."
    assert str(inspect.signature(Counter.aadd)) == str(inspect.signature(Counter.add))
    assert inspect.iscoroutinefunction(Counter.aadd)
    assert (Counter.acount.__name__, Counter.acount.__doc__) == ("acount", "Counts to a number.")
    assert inspect.isasyncgenfunction(Counter.acount)


def test_a_twin_leaves_its_method_as_it_was() -> None:
    assert Counter.add.__name__ == "add"
    assert Counter().add(1) == 1


def test_the_method_runs_in_the_one_thread_for_what_is_sync() -> None:
    counter = Counter()

    async def several() -> None:
        await asyncio.gather(*(counter.aadd(number) for number in range(5)))
        async for _ in counter.acount(3):
            pass

    run(several())

    assert len(counter.threads) == 1
    assert threading.get_ident() not in counter.threads


def test_an_iterators_twin_yields_what_the_method_yields() -> None:
    counter = Counter()

    async def all_of_it() -> list[int | None]:
        return [number async for number in counter.acount(3)]

    assert run(all_of_it()) == [None, 1, 2]
    assert counter.done == ["made 0", "made 1", "made 2", "closed"]


def test_an_iterator_that_is_no_generator_has_a_twin_too() -> None:
    async def all_of_it() -> list[str]:
        return [part async for part in Counter().aparts()]

    assert run(all_of_it()) == ["a", "b"]


def test_an_iterators_twin_makes_one_item_at_a_time_and_closes_with_it() -> None:
    counter = Counter()

    async def first() -> None:
        async with aclosing(counter.acount(1000)) as numbers:
            async for _ in numbers:
                assert counter.done == ["made 0"]
                break

    run(first())

    assert counter.done == ["made 0", "closed"]
    assert len(counter.threads) == 1
    assert threading.get_ident() not in counter.threads


def test_an_iterators_twin_raises_what_the_method_raises_where_it_does() -> None:
    counter = Counter()

    async def all_of_it() -> None:
        async for _ in counter.acount(3, broken_at=1):
            pass

    with pytest.raises(ValueError, match="broken"):
        run(all_of_it())
    assert counter.done == ["made 0", "closed"]


def test_a_cancelled_task_closes_its_iterator_once_the_item_in_the_making_is_made() -> None:
    made = threading.Event()
    finish = threading.Event()
    done: list[str] = []

    class Slow:
        def wait(self) -> Iterator[int]:
            try:
                made.set()
                finish.wait(10)
                done.append("made")
                yield 1
            finally:
                done.append("closed")

        await_ = twin_iterator(wait)

    async def cancelled() -> None:
        async def taken() -> list[int]:
            return [number async for number in Slow().await_()]

        task = asyncio.create_task(taken())
        while not made.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        finish.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())

    assert done == ["made", "closed"]
