"""The claim of limited queues: what the limits of all workers leave, chosen under a lock that keeps its counts true."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Literal

from ..databases import database
from ..databases.base import Database, held
from ..databases.rows import BEGINNING, Claimed, GroupStarts, Head, Held, Locked, Start, Waiting
from ..errors import CorruptError
from ..options import QueueOptions
from ..timing.rates import Rate, Starts
from . import flaws
from .asking import Asked, Look
from .picking import Picked, Room, pick, room_beside, without

# Due jobs looked at: at first, and at the longest where most of them have to be set aside.
FIRST, LONGEST = 50, 10_000
# Microseconds between two looks for jobs left aside, and how often as long as a look took it is at least.
EVERY, SHARE = 1_000_000, 20


def look(alias: str, asked: Asked) -> Look:
    """Looks at the limited queues without any lock; where runs have just ended there is something to do anyway.

    While nothing ends, one question is about all queues: an idle worker asks no other.
    """
    busy = frozenset(one.queue for one in asked.ended if one.queue in asked.limits)
    limited = {queue for queue, free in asked.wanted.items() if free and queue in asked.limits and queue not in busy}
    if not limited:
        return Look(busy)
    seen = limited if asked.ended else {queue for queue, free in asked.wanted.items() if free}
    now, heads = database(alias).limits.heads(sorted(seen))
    due = {queue for queue, head in heads.items() if any(at <= now for at in _times(head))}
    return Look(busy | due, frozenset(seen), now, _next(heads.values(), now))


def claim(store: Database, lease: int, asked: Asked, queues: Sequence[str], lets_go: bool) -> Claimed:
    """Claims due jobs of these queues, as far as their limits go, and gives on what the ended runs held.

    To be called inside `own_transaction()`, behind the settle of those runs; `lets_go` as `Limits.lock` has it.
    """
    locked = lock(store, queues, lets_go, any(asked.limits[queue].group_rate for queue in queues))
    claims = [_Claim(store, lease, queue, asked, locked).take(asked.wanted.get(queue, 0)) for queue in queues]
    return together([*claims, Claimed(locked.now)])


def together(claims: Sequence[Claimed]) -> Claimed:
    """What several claims of one round took."""
    due = [one.next_due for one in claims if one.next_due is not None]
    held = [one for some in claims for one in some.held]
    entries, floored = sum(one.entries for one in claims), any(one.floored for one in claims)
    now = max(one.now for one in claims)
    return Claimed(now, held, min(due, default=None), entries=entries, floored=floored)


def lock(store: Database, queues: Sequence[str], lets_go: bool, with_rates: bool = False) -> Locked:
    """Locks the rows of all of these queues, and makes those that are not there."""
    locked = store.limits.lock(queues, lets_go, with_rates)
    if len(locked.shared) == len(queues):
        return locked
    store.limits.open(queues)
    return store.limits.lock(queues, lets_go, with_rates)


def refill(store: Database, queue: str, options: QueueOptions, now: int) -> bool:
    """Brings back the jobs of a queue that were left aside though their group has room; whether there were any."""
    began = time.monotonic()
    latest = now + options.group_rate.longest_wait if options.group_rate else now
    groups = store.limits.left_aside(queue, options.heads or 0, now, latest)
    back = {one.group: most for one in groups if (most := room_beside(options, one.running, one.ready)) > 0}
    if back:
        store.limits.bring_back(queue, back)
    if groups:
        took = int((time.monotonic() - began) * 1e6)
        store.limits.wait(queue, now + max(EVERY, SHARE * took))
    return bool(back)


class _Claim:
    """One limited queue's part of a round, under its lock."""

    def __init__(self, store: Database, lease: int, queue: str, asked: Asked, locked: Locked) -> None:
        self.store, self.limits, self.lease, self.queue = store, store.limits, lease, queue
        self.options, self.shared, self.now = asked.limits[queue], locked.shared[queue], locked.now
        rate = self.options.rate
        self.room = Room(self.options, self.now, self._read(self.shared.starts, rate))
        self.counted = False
        self.locks = False  # whether the next look leaves out the jobs that others hold
        self.back = self._freed(asked.ended, locked)  # to be brought back before the first look
        self.aside: list[Waiting] = []  # to be set aside before the next one
        self.starts = asked.floors.starts()
        self.entries = 0
        self.floors, self.counts = asked.floors, asked.counts
        self.touched: set[str] = set()  # groups whose logs are to be written
        # How the look for jobs ended: with as many as wanted, with too few, or before it had seen them all.
        self.end: Literal["full", "short", "cut"] = "full"

    def _freed(self, ended: Iterable[Held], locked: Locked) -> Counter[str]:
        """How many jobs of each group to bring back: one for each run that ended, and those of groups whose rate is
        free again."""
        if self.options.heads is None:
            return Counter()
        runs = Counter(one.group for one in ended if one.queue == self.queue and one.group is not None)
        return runs | Counter({group: self._room(log) for queue, group, log in locked.free if queue == self.queue})

    def _room(self, log: str) -> int:
        rate = self.options.group_rate
        return self._read(log, rate).room(rate) if rate else 0

    def _read(self, log: str, rate: Rate | None) -> Starts:
        """A log of starts. One that does not read is begun anew, as one that is not there is."""
        try:
            return Starts.read(log, rate, self.now) if rate else Starts()
        except CorruptError as error:
            flaws.tell(self.queue, str(error))
            return Starts()

    def take(self, free: int) -> Claimed:
        """Takes up to so many jobs."""
        if self.shared.paused or not free:
            self._bring_back()
            return Claimed(self.now)
        taken = self._take(free)
        if self.end == "short" and self._refill():
            taken += self._take(free - len(taken))
        claimed = Claimed(self.now, taken, self._close(), entries=self.entries)
        return self.floors.note({self.queue: free}, self.starts, {self.queue}, claimed)

    def _take(self, free: int) -> list[Held]:
        taken: list[Held] = []
        size = max(FIRST, 2 * free)
        while True:
            waiting = self._look(size)
            picked = pick(waiting, self.room, self._most(free - len(taken)))
            started = self._start(picked)
            taken += started
            if not self._most(free - len(taken)):
                self.end = "full"
            elif len(started) < len(picked.jobs) and not self.locks:
                self.locks = True  # others hold some: looked at without a lock, they would be picked again
                continue
            elif len(waiting) < size:
                self.end = "short"
            elif size == LONGEST:
                self.end = "cut"
            else:
                size = min(LONGEST, size * 10)
                continue
            return taken

    def _bring_back(self) -> None:
        """Brings back what is to be, by itself, since it may come to an earlier place than the floor."""
        if self.back and (place := self.limits.bring_back(self.queue, self.back)):
            self.floors.lower(self.queue, place)
            if self.queue in self.starts:
                self.starts[self.queue] = min(place, self._start_at)
        self.back = Counter()

    @property
    def _start_at(self) -> Start:
        return self.starts.get(self.queue, BEGINNING)

    def _most(self, free: int) -> int:
        left = self.room.left()
        return free if left is None else min(free, left)

    def _look(self, size: int) -> list[Waiting]:
        counts = self.options.concurrency is not None and not self.counted
        # Behind the lock: what others count and start is over.
        taken = self.counts.take([self.queue], self.store.session()) if counts else {}
        if self.queue in self.starts:
            self._bring_back()
        rate = self.options.group_rate
        looked = self.limits.look(
            self.queue,
            self.back,
            self.aside,
            self.now,
            size,
            start=self._start_at,
            counts=counts,
            count=taken[self.queue].count if counts else None,
            locks=self.locks,
            with_starts=rate is not None,
        )
        self.entries += looked.entries
        if counts:
            self.room.running, self.counted = looked.running, True
            old = {} if looked.old is None else {self.queue: looked.old}
            self.counts.note(taken, self.now, looked.counted, old)
        self.back, self.aside = Counter(), []
        for one in looked.waiting:
            if rate and one.group and one.starts and one.group not in self.room.of_groups:
                self.room.of_groups[one.group] = self._read(one.starts, rate)
        return looked.waiting

    def _start(self, picked: Picked) -> list[Held]:
        rows = self.limits.take(self.lease, self.queue, picked.jobs, self.now) if picked.jobs else []
        taken = held(self.lease, rows)
        started = {one.id for one in taken}
        self.aside = without(picked.aside, [one for one in picked.jobs if one.id not in started])
        self.room.start(one.group for one in taken)
        groups = [*(one.group for one in taken), *(one.group for one in self.aside)]
        self.touched.update(group for group in groups if group is not None)
        return taken

    def _refill(self) -> bool:
        """Brings back jobs that were left aside though their group has room; whether there were any.

        An add sets a job aside behind others of its group that may have ended by the time it commits.
        """
        due = self.options.heads is not None and self.shared.refill_at <= self.now
        if not (due and refill(self.store, self.queue, self.options, self.now)):
            return False
        self.floors.forget()
        self.starts = {}
        return True

    def _close(self) -> int | None:
        """Writes what is to be written, and says when the queue may next have something to start, as far as that is
        known."""
        rate = self.options.rate
        starts = self.room.starts.text if rate is not None else None
        asks = self._start_at if self.end == "short" else None
        head = self.limits.close(self.queue, self.aside, starts, self._logs(), asks=asks)
        if self.end == "cut":
            return self.now
        if self.end == "short":
            return _next([head] if head else [], self.now)
        return self.room.starts.free_at(rate) if rate is not None else None

    def _logs(self) -> list[GroupStarts]:
        rate = self.options.group_rate
        if rate is None:
            return []
        logs = {group: log for group in sorted(self.touched) if (log := self.room.of_groups.get(group))}
        return [GroupStarts(group, log.text, log.more_at(rate), log.ends_at(rate)) for group, log in logs.items()]


def _times(head: Head) -> list[int]:
    return [at for at in astuple(head) if at is not None]


def _next(heads: Iterable[Head], now: int) -> int | None:
    return min((at for head in heads for at in _times(head) if at > now), default=None)
