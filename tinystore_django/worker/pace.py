"""How much a worker's loop takes, and how long it goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Seconds before rows that another transaction holds are tried again.
TRY_AGAIN = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    slots: dict[str, int]  # handlers at once, by queue
    poll: float  # seconds
    until_idle: bool = False
    max_jobs: int | None = None
    grace: float = math.inf  # seconds

    @property
    def waits(self) -> float:
        """How many seconds it waits for a database that does not answer: a command of cron's must not pile up."""
        return self.grace if self.until_idle else math.inf

    def had_all(self, settled: int) -> bool:
        """Whether so many runs are all that it was to settle."""
        return self.max_jobs is not None and settled >= self.max_jobs

    def bounded(self, free: dict[str, int], begun: int) -> dict[str, int]:
        """How many jobs of each queue to claim for so many free handlers, after so many runs."""
        if self.max_jobs is None:
            return free
        left = self.max_jobs - begun
        most = {}
        for queue, slots in free.items():
            most[queue] = max(0, min(slots, left))
            left -= most[queue]
        return most
