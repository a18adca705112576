"""What goes to the database and what comes back from it, as frozen values. Times are microseconds since 1970."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

# A run of a job: its primary key, the run's number and the lease it was claimed under. A settle, a step or a report
# of progress takes effect only while the row still says all three.
Fence = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to insert. Its time is `at`, or `delay` from the database's now."""

    queue: str
    value: str
    key: str | None = None
    at: int | None = None
    delay: int = 0
    group: str | None = None
    repeat: str | None = None
    heads: int | None = None  # it is set aside behind so many of its group
    max_waiting: int | None = None  # it is not added where so many wait


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs to insert together, due at one time: each as its id, its value, its group and its state."""

    queue: str
    jobs: Sequence[tuple[str | None, str, str | None, int]]
    at: int


class Held(NamedTuple):
    """A job a worker holds, until its lease ends. A tuple: it is made faster than any other value."""

    id: int
    run: int
    lease: int
    queue: str
    key: str | None
    value: str
    at: int  # when it was due: what the handler sees as run.at
    attempt: int
    group: str | None
    repeat: str | None
    started_at: int
    waited: int = 0  # from when it could start until it did

    @property
    def fence(self) -> Fence:
        return (self.id, self.run, self.lease)


@dataclass(frozen=True, order=True, slots=True)
class Start:
    """A place in the line of a queue's jobs, at which a claim begins to look."""

    at: int
    id: int


BEGINNING = Start(-(2**63), -(2**63))  # before any job


EVER = -(2**62)  # before any start, and a number that PostgreSQL takes for a bigint

# Microseconds by which a count that begins further on does so before the one before it: what a clock may be set back.
MARGIN = 1_000_000


@dataclass(frozen=True, slots=True)
class Count:
    """How what runs is counted: the jobs that started at `since` or later, and of those before it these. The count is
    to tell of the jobs that have run for longer than `MARGIN`."""

    since: int = EVER
    ids: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim took, in the order to start it, and when the next job falls due (None: none is known)."""

    now: int
    held: list[Held] = field(default_factory=list)
    next_due: int | None = None
    removed: set[Fence] = field(default_factory=set)
    entries: int = 0  # of the line's index that it read, where the database says so
    floored: bool = False  # jobs before its start may have been left
    counted: int = 0  # entries of the index of what runs that it read, where the database says so
    old: Mapping[str, Sequence[int]] = field(default_factory=dict)  # what has run for a while, by queue, where asked


@dataclass(frozen=True, slots=True)
class Waiting:
    """A due job of a limited queue, as the choice of those that start sees it."""

    id: int
    at: int
    group: str | None
    starts: str | None = None  # the log of its group's rate, as JSON


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at a limited queue saw: its first due jobs, and what ran where that was asked."""

    waiting: list[Waiting]
    entries: int  # read to find those
    running: Counter[str | None]  # jobs by group, those without one under None
    counted: int  # entries read to count those
    old: Sequence[int] | None  # of those, what had run for a while, where asked


@dataclass(frozen=True, slots=True)
class Aside:
    """A group that has jobs set aside: how many of its jobs run, and how many are ready before those."""

    group: str
    running: int
    ready: int


@dataclass(frozen=True, slots=True)
class GroupStarts:
    """The log of one group's rate, when it has more room than now, and when it counts no more."""

    group: str
    starts: str
    free_at: int | None
    until: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What the workers of a limited queue share: its row."""

    starts: str
    refill_at: int  # jobs set aside by mistake are not looked for before that
    paused: bool


@dataclass(frozen=True, slots=True)
class Locked:
    """What the workers of some queues share, once this one has their locks, and the time then."""

    now: int
    shared: dict[str, Shared]
    free: list[tuple[str, str, str]] = field(default_factory=list)  # queue, group and log, where a rate has more room


@dataclass(frozen=True, slots=True)
class Head:
    """Whether a limited queue has anything to claim, without its lock."""

    at: int | None  # of its first job that is not set aside
    free_at: int | None  # when a group's rate has more room
    refill_at: int | None  # when jobs that were set aside may be looked for; None where there are none


@dataclass(frozen=True, slots=True)
class Seen:
    """What others wrote on a running job's row, as its settle saw it: a settle of anything else takes no effect."""

    next_at: int | None = None
    next_group: str | None = None
    repeat: str | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """A job's row after a run. None for `at`, and for `error` with `keep_error`, leaves what is there."""

    fence: Fence
    seen_next: int | None
    seen_repeat: str | None
    state: int
    attempt: int
    at: int | None
    due: int
    group: str | None
    error: str | None = None
    traceback: str | None = None
    keep_error: bool = False
    released: bool = False
    ended_at: int | None = None
    until: int | None = None
    kept_until: int | None = None
    last_started_at: int | None = None
    last_ended_at: int | None = None
    drops_steps: bool = False  # not a column: its steps go with this settle


@dataclass(slots=True)
class Sum:
    """What a worker did in a queue since it last wrote it down."""

    queue: str
    started: int = 0
    failed: int = 0
    longest_wait: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """The jobs of a queue that can start, or those set aside of one of its groups."""

    queue: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a renewed lease learned on the way."""

    now: int
    next_expiry: int | None  # of the other workers' leases
    orphans: bool  # running jobs whose lease is gone
    clearable: bool  # rows past their keep, or progress left behind by runs that ended
