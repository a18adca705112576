"""Where a worker's claims begin to look, while the beginning of a queue's line is full of dead entries.

PostgreSQL leaves a started job's entry in the index until a vacuum may take it, and that is not before the oldest
transaction of the database ends. A claim that begins at the first entry goes through them all, each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from ..databases.rows import BEGINNING, Claimed, Held, Start

# Entries of a queue that a claim reads at the most where little is dead.
FEW = 6_000
# How many claims running have to read more. Of what is dead to everybody the first claim marks the entries, and those
# after it do not count them: only what an open transaction keeps is read each time.
RUNNING = 3
# Seconds for which claims then begin further on, for each entry that this one read: a dead one takes 0.1 microseconds,
# so that the looks from the beginning take a twentieth of the time.
SECONDS, LONGEST = 0.000002, 1.0
# Microseconds that a claim looks back at least: most transactions commit within them what they have added.
BACK = 1_000_000


@dataclass(frozen=True, slots=True)
class _Floor:
    start: Start
    ends: float


class Floors:
    """The floors of one worker's queues. While a queue has none, a claim begins at the first job of its line."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._floors: dict[str, _Floor] = {}
        self._long = 0  # claims from the beginning that read many entries, running

    def starts(self) -> dict[str, Start]:
        """Where the next claim of a queue begins, for those that have a floor."""
        now = self._monotonic()
        return {queue: floor.start for queue, floor in self._floors.items() if now < floor.ends}

    def lower(self, queue: str, place: Start) -> None:
        """Has the next claims of a queue begin at a place where a job came back, or before it."""
        if floor := self._floors.get(queue):
            self._floors[queue] = replace(floor, start=min(floor.start, place))

    def forget(self) -> None:
        """Has the next claims begin at the beginning: a job may have gone back to a place before the floor."""
        self._floors = {}

    def note(
        self, wanted: Mapping[str, int], starts: Mapping[str, Start], bounded: Container[str], claimed: Claimed
    ) -> Claimed:
        """Takes in what a claim of some queues found; the same, with when to look at what it may have left.

        Args:
            wanted: the free handlers of each queue.
            starts: where it began, as `starts` gave it.
            bounded: those queues whose jobs it may have left for another reason than that there are none.
        """
        asked = {queue: free for queue, free in wanted.items() if free > 0}
        now, before = self._monotonic(), self._floors
        floors = {queue: before.get(queue, _Floor(start, now)) for queue, start in starts.items()}
        began = [floors[queue].ends for queue in asked if queue in floors]
        if not began:
            self._long = self._long + 1 if claimed.entries > FEW * len(asked) else 0
        ends = now + min(LONGEST, claimed.entries * SECONDS) if self._long >= RUNNING else now
        for queue, free in asked.items():
            floor = floors.get(queue, _Floor(BEGINNING, ends))
            start = _reached(claimed, queue, free, queue in bounded) or floor.start
            floors[queue] = replace(floor, start=start)
        self._floors = {queue: floor for queue, floor in floors.items() if now < floor.ends}
        return _to_look_again(claimed, min(began) - now) if began else claimed


def _to_look_again(claimed: Claimed, seconds: float) -> Claimed:
    at = claimed.now + max(0, int(seconds * 1e6))
    return replace(claimed, next_due=at if claimed.next_due is None else min(at, claimed.next_due), floored=True)


def _reached(claimed: Claimed, queue: str, free: int, bounded: bool) -> Start | None:
    """How far a claim has come: everything before it was taken, or is held by another transaction."""
    taken = [one for one in claimed.held if one.queue == queue]
    latest = Start(claimed.now - BACK, BEGINNING.id)
    if not bounded and len(taken) < free:
        return latest
    return min(_place(taken[-1]), latest) if taken else None


def _place(held: Held) -> Start:
    return Start(held.started_at - held.waited, held.id)
