"""What a worker's queues did since it was last written down: a few additions a job, and no query."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from ..databases.rows import Held, Sum
from ..timing.durations import LONGEST


class Tally:
    """Sums by queue, from when they were last handed over; shared by the threads of a worker."""

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._sums: dict[str, Sum] = {}

    def started(self, jobs: Iterable[Held]) -> None:
        """Counts runs, and how long the jobs had waited."""
        with self._adding:
            for held in jobs:
                kept = self._sum(held.queue)
                kept.started += 1
                if held.waited > kept.longest_wait:
                    kept.longest_wait = min(held.waited, LONGEST)

    def ended(self, held: Held, outcome: str) -> None:
        """Counts a run that has failed, whether or not its job is tried again."""
        if outcome in ("retry", "failed", "lost"):
            with self._adding:
                self._sum(held.queue).failed += 1

    def hand_over(self, write: Callable[[list[Sum]], object]) -> bool:
        """Gives the sums to `write` and begins anew; whether there were any. If it raises, they are kept."""
        with self._adding:
            sums, self._sums = self._sums, {}
        if not sums:
            return False
        try:
            write(list(sums.values()))
        except BaseException:
            for one in sums.values():
                self._add(one)
            raise
        return True

    def _sum(self, queue: str) -> Sum:
        kept = self._sums.get(queue)
        if kept is None:
            kept = self._sums[queue] = Sum(queue)
        return kept

    def _add(self, more: Sum) -> None:
        with self._adding:
            kept = self._sum(more.queue)
            kept.started += more.started
            kept.failed += more.failed
            kept.longest_wait = max(kept.longest_wait, more.longest_wait)
