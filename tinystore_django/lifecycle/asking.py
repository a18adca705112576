"""What a worker's round asks for, and the look that says in which of these queues there is anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..databases.rows import Held
from ..options import QueueOptions
from .counts import Counts
from .floors import Floors

Limited = Mapping[str, QueueOptions]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker's round asks for."""

    wanted: Mapping[str, int]  # free handlers, by queue
    limits: Limited = field(default_factory=dict)  # the options of the queues that have a limit
    ended: Sequence[Held] = ()  # the runs that gave their places back since the last round
    floors: Floors = field(default_factory=Floors)
    counts: Counts = field(default_factory=Counts)

    def unlimited(self) -> Asked:
        """The same of the queues without a limit alone."""
        wanted = {queue: free for queue, free in self.wanted.items() if queue not in self.limits}
        return Asked(wanted, floors=self.floors)

    def plain(self, look: Look) -> dict[str, int]:
        """What it asks for of the queues that at most a total bounds, but for those that have nothing."""
        return {queue: free for queue, free in self.wanted.items() if self._is_plain(queue) and look.may_have(queue)}

    def _is_plain(self, queue: str) -> bool:
        options = self.limits.get(queue)
        return options is None or options.only_total

    def totals(self, queues: Iterable[str]) -> dict[str, int]:
        """The totals of those of some queues that have one."""
        bounds = {queue: self.limits[queue].total for queue in queues if queue in self.limits}
        return {queue: total for queue, total in bounds.items() if total is not None}


@dataclass(frozen=True, slots=True)
class Look:
    """The queues that there is something to do in, those that were looked at, and when there may next be something."""

    due: frozenset[str]
    seen: frozenset[str] = frozenset()
    now: int = 0
    next_due: int | None = None

    def may_have(self, queue: str) -> bool:
        """Whether there may be something to do in a queue."""
        return queue in self.due or queue not in self.seen
