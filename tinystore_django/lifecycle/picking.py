"""Which waiting jobs may start under a queue's limits, and which must make way: the rule, without a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..databases.rows import Waiting
from ..options import QueueOptions
from ..timing.rates import Starts


@dataclass(slots=True)
class Room:
    """What a queue's limits leave at one instant."""

    options: QueueOptions
    now: int
    starts: Starts = field(default_factory=Starts)  # of the whole queue
    running: Counter[str | None] = field(default_factory=Counter)  # by group, those without one under None
    of_groups: dict[str, Starts] = field(default_factory=dict)

    def left(self) -> int | None:
        """How many more may start in all; None where nothing bounds them."""
        bounds: list[int] = []
        if self.options.total is not None:
            bounds.append(max(0, self.options.total - self.running.total()))
        if self.options.rate is not None:
            bounds.append(self.starts.room(self.options.rate))
        return min(bounds, default=None)

    def left_in(self, group: str) -> int | None:
        """How many more of a group may start; None where nothing bounds them."""
        bounds: list[int] = []
        if self.options.group is not None:
            bounds.append(max(0, self.options.group - self.running[group]))
        if self.options.group_rate is not None:
            bounds.append(self.of_groups.get(group, Starts()).room(self.options.group_rate))
        return min(bounds, default=None)

    def start(self, groups: Iterable[str | None]) -> None:
        """Counts the starts of jobs of these groups."""
        counted = Counter(groups)
        self.running.update(counted)
        if self.options.rate is not None:
            self.starts = self.starts.more(self.options.rate, self.now, counted.total())
        for group, count in counted.items():
            if self.options.group_rate is not None and group is not None:
                before = self.of_groups.get(group, Starts())
                self.of_groups[group] = before.more(self.options.group_rate, self.now, count)


@dataclass(frozen=True, slots=True)
class Picked:
    """What is to start, in its order, and what stood before it and cannot, because its group is full."""

    jobs: list[Waiting]
    aside: list[Waiting]


def pick(waiting: Iterable[Waiting], room: Room, most: int) -> Picked:
    """Goes through due jobs in the order they are to start, and picks up to `most`."""
    picked = Picked([], [])
    left: dict[str, int | None] = {}
    for one in waiting:
        if len(picked.jobs) == most:
            break
        if one.group is None:
            picked.jobs.append(one)
            continue
        bound = left.setdefault(one.group, room.left_in(one.group))
        if bound == 0:
            picked.aside.append(one)
            continue
        picked.jobs.append(one)
        left[one.group] = None if bound is None else bound - 1
    return picked


def room_beside(options: QueueOptions, running: int, ready: int) -> int:
    """How many of a group's jobs set aside may become ready beside these, whatever its rate; 0 or less for none."""
    bounds = [options.heads, None if options.group is None else options.group - running]
    return min((bound for bound in bounds if bound is not None), default=0) - ready


def without(aside: Iterable[Waiting], skipped: Iterable[Waiting]) -> list[Waiting]:
    """Those to set aside, but for the groups of picked jobs that somebody holds: should he take such a job away, none
    would be left to bring the others back."""
    groups = {one.group for one in skipped}
    return [one for one in aside if one.group not in groups]
