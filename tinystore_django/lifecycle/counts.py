"""How a worker counts what runs, while the index of what runs is full of dead entries.

A count must be exact, and one that goes through them all takes as long as a hundred claims do. But what ran at the last
count is known, and whatever has started since did so under the same lock, and so later. Why that holds is said in
docs/architecture.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..databases.rows import EVER, MARGIN, Count
from .floors import FEW, LONGEST, SECONDS

# Seconds between two counts, of which the second may build on the first: less than `MARGIN`, so that no clock that was
# set back by more than that looks as if it had gone on.
APART = 0.5
# Jobs at the most that are looked at one by one.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Link:
    """How a queue is counted. None is a count in full that nothing is built on."""

    count: Count | None
    at: float  # when it was asked for
    ends: float  # from when on one goes through everything again
    session: object | None

    @property
    def builds(self) -> bool:
        """Whether it builds on the one before it."""
        return self.count is not None and self.count.since != EVER


class Counts:
    """The chain of counts of each of a worker's queues, from one that was long on."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._links: dict[str, Link] = {}

    def take(self, queues: Collection[str], session: object | None) -> dict[str, Link]:
        """How a claim is to count what runs in each of some queues. They have no chain any more until it is noted.

        Args:
            session: the server's session that counts; None where it may be another one each time.
        """
        now = self._monotonic()
        return {queue: self._taken(self._links.pop(queue, None), now, session) for queue in queues}

    def _taken(self, link: Link | None, now: float, session: object | None) -> Link:
        if link is None or session is None:
            return Link(None, now, now, session)
        if link.session is session and now - link.at <= APART and now < link.ends:
            return replace(link, at=now)
        return Link(Count(), now, now, session)

    def note(self, taken: Mapping[str, Link], now: int, entries: int, old: Mapping[str, Sequence[int]]) -> None:
        """Takes in what a claim counted.

        Args:
            taken: how, as `take` gave it.
            now: the server's time then.
            entries: how many of the index of what runs it read for all of them.
            old: the jobs that have run for longer than `MARGIN`, where it was to tell of them.
        """
        long, ends = entries > FEW * len(taken), self._monotonic() + min(LONGEST, entries * SECONDS)
        for queue, link in taken.items():
            count = _following(link, now, old.get(queue))
            if count is not None and (link.builds or long) and link.session is not None:
                self._links[queue] = replace(link, count=count, ends=link.ends if link.builds else ends)

    def forget(self) -> None:
        """Has the next counts be made in full: what the last ones saw may have been undone."""
        self._links = {}


def _following(link: Link, now: int, old: Sequence[int] | None) -> Count | None:
    if link.count is None:
        return Count()
    return None if old is None or len(old) > MOST else Count(now - MARGIN, old)
