"""What the compared queues have in common: a program says how its queue is used, and counts what it does."""

from __future__ import annotations

import asyncio
import importlib.metadata
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# The first part of a run is left out of its rate: caches fill, connections open, threads start.
WARM_UP = 0.1
PATIENCE = 60.0

Handler = Callable[[Any], Any]


class Rate:
    """Counts what happens, up to so many times or for so many seconds after the first."""

    def __init__(self, jobs: int, seconds: float) -> None:
        self.jobs = jobs
        self.seconds = seconds
        self.times: list[float] = []
        self._made_at = time.perf_counter()
        self._all = threading.Event()

    def tick(self, value: Any = None) -> None:
        self.times.append(time.perf_counter())
        if len(self.times) >= self.jobs:
            self._all.set()

    @property
    def over(self) -> bool:
        now = time.perf_counter()
        if not self.times and now - self._made_at > PATIENCE:
            raise TimeoutError(f"nothing was run in {PATIENCE:.0f} s")
        return self._all.is_set() or (bool(self.times) and now - self.times[0] > self.seconds)

    def wait(self) -> None:
        while not self.over:
            self._all.wait(0.05)

    async def await_end(self) -> None:
        while not self.over:
            await asyncio.sleep(0.05)

    def values(self) -> Iterator[int]:
        """A value for each add of a program, until it is over."""
        for number in range(self.jobs):
            yield number
            self.tick()
            if self.over:
                return

    def per_second(self) -> float:
        times = sorted(self.times)
        first = int(len(times) * WARM_UP)
        return (len(times) - 1 - first) / (times[-1] - times[first])


class Program(ABC):
    """One queue, used as its documentation recommends. The value of every job is one number.

    Attributes:
        distribution: its name on PyPI.
        table: where its jobs are.
        new: SQL for the columns of which no two rows may have the same.
        has_bulk, has_async: whether it has a call that adds many; handlers that are coroutines, some at once.
    """

    distribution: str
    table: str
    new: dict[str, str] = {"id": "default"}
    has_bulk = True
    has_async = True

    def __init__(self, url: str, variant: str) -> None:
        self.url = url
        self.variant = variant  # of what its documentation leaves open, where that makes a difference
        self.is_async = False  # what the handler of the jobs that it adds will be

    @classmethod
    def version(cls) -> str:
        return importlib.metadata.version(cls.distribution)

    @abstractmethod
    def install(self) -> None:
        """Makes its tables, and sets what its documentation recommends."""

    @abstractmethod
    def add(self, values: Iterable[float], *, atomic: bool = False) -> None:
        """Adds each by itself: with a commit each, or all in one transaction."""

    @abstractmethod
    def add_many(self, values: list[int]) -> None:
        """Adds all of them by its call for many."""

    @abstractmethod
    def add_later(self) -> None:
        """Adds one job due in a day."""

    @abstractmethod
    def work(self, handler: Handler, concurrency: int, rate: Rate) -> None:
        """Runs one worker in this process until the rate is over."""
