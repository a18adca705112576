"""What an operator does to rows, with ids or without: retry, run now, move, cancel.

A million rows may be meant: they are taken in batches, each in a transaction of its own, and a row that another
transaction holds is left out, never waited for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from ..databases import database
from ..models import Job, Step
from ..timing import clock
from . import asides, notices
from .clearing import remember_cancels
from .locking import State, known
from .reading import state_of

BATCH = 2_500
# Never the value, which may be large.
COLUMNS = ("queue", "key", "group", "state", "at", "run", "cancelled", "released", "kept_until")
NOT_STARTED = frozenset({"scheduled", "waiting"})

# What a verb does to locked rows, at an instant.
Change = Callable[[str, Sequence[Job], int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many jobs a verb was done to, and the others by why it was not: the state they are in; "gone"; "taken", as
    another job has its id; "busy", as another transaction holds it."""

    done: int = 0
    left: Counter[str] = field(default_factory=Counter)
    queues: Counter[str] = field(default_factory=Counter, compare=False)  # those that it was done to, by queue

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.done + other.done, self.left + other.left, self.queues + other.queues)


def retry(alias: str, jobs: Sequence[int]) -> Outcome:
    """Starts failed jobs again, their attempts from one, due now; `jobs` are the primary keys of their rows."""
    return _in_batches(alias, jobs, {"failed"}, _start_afresh)


def run_now(alias: str, jobs: Sequence[int]) -> Outcome:
    """Makes scheduled jobs due now: a retry comes early, and a repeating job runs once before its next tick."""
    return _in_batches(alias, jobs, {"scheduled"}, _move)


def move(alias: str, jobs: Sequence[int], at: int) -> Outcome:
    """Makes jobs that have not started due at another time, in microseconds; all else about them stays."""
    return _in_batches(alias, jobs, NOT_STARTED, lambda alias, rows, _: _move(alias, rows, at))


def cancel(alias: str, jobs: Sequence[int]) -> Outcome:
    """Takes jobs away, as `queue.cancel` does; running ones are told to stop."""
    return _in_batches(alias, jobs, {*NOT_STARTED, "running", "failed"}, _take_away)


def _in_batches(alias: str, jobs: Sequence[int], states: Collection[str], change: Change) -> Outcome:
    return sum((_batch(alias, list(batch), states, change) for batch in batches(jobs)), Outcome())


def batches(jobs: Sequence[int]) -> Iterator[Sequence[int]]:
    """The parts in which jobs are taken."""
    return (jobs[start : start + BATCH] for start in range(0, len(jobs), BATCH))


def _batch(alias: str, jobs: Sequence[int], states: Collection[str], change: Change) -> Outcome:
    store = database(alias)
    with store.own_transaction():
        rows = _lock(alias, jobs)
        now = store.now()
        standing = {row: _standing(row, now) for row in rows}
        fit = [row for row in rows if standing[row] in states]
        left = Counter(why for why in standing.values() if why not in states)
        left += _missing(alias, set(jobs).difference(row.pk for row in rows))
        if fit:
            change(alias, fit, now)
    queues = Counter(known(row.queue) for row in fit)
    for queue in queues:
        notices.changed(alias, queue)
    return Outcome(len(fit), left, queues)


def _lock(alias: str, jobs: Sequence[int]) -> list[Job]:
    """The rows that nobody else holds, locked, in the order that all such batches take."""
    rows = Job.objects.using(alias).filter(pk__in=jobs).only(*COLUMNS).order_by("pk")
    return list(rows.select_for_update(of=("self",), skip_locked=True))


def _missing(alias: str, jobs: Collection[int]) -> Counter[str]:
    if not jobs:
        return Counter()
    busy = Job.objects.using(alias).filter(pk__in=jobs).count()
    return +Counter({"busy": busy, "gone": len(jobs) - busy})


def _standing(row: Job, now: int) -> str:
    # A done job's row may be kept for longer than its id.
    past = row.kept_until is not None and clock.from_datetime(row.kept_until) <= now
    if row.cancelled or past:
        return "gone"
    return "taken" if row.released and row.state == State.FAILED else state_of(row, now)


def _start_afresh(alias: str, rows: Sequence[Job], now: int) -> None:
    _of(alias, rows).update(
        state=State.READY,
        attempt=0,
        at=now,
        due=now,
        **dict.fromkeys(("error", "traceback", "ended_at", "until", "kept_until", "last_started_at", "last_ended_at")),
    )
    _drop_steps(alias, rows)


def _move(alias: str, rows: Sequence[Job], at: int) -> None:
    _of(alias, rows).update(at=at, due=at)
    # One set aside stays so, but the first of its group may be another one now.
    _bring_back(alias, rows)


def _take_away(alias: str, rows: Sequence[Job], _: int) -> None:
    """Removes jobs; a running one's row stays until its handler, told to stop, has ended."""
    remember_cancels(alias, rows)
    running = [row for row in rows if row.state == State.RUNNING]
    if running:
        _of(alias, running).update(cancelled=True, released=True)
    if others := [row for row in rows if row.state != State.RUNNING]:
        _drop_steps(alias, others)
        _of(alias, others).delete()
        _bring_back(alias, [row for row in others if row.state == State.READY])


def _bring_back(alias: str, rows: Sequence[Job]) -> None:
    """Brings back as many jobs set aside as there were jobs that left their place, in each group of each queue."""
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row.group is not None:
            groups[known(row.queue)][row.group] += 1
    for queue, counts in groups.items():
        asides.bring_back(alias, queue, counts)


def _drop_steps(alias: str, rows: Sequence[Job]) -> None:
    if jobs := [row.pk for row in rows if row.run]:
        Step.objects.using(alias).filter(job__in=jobs).delete()


def _of(alias: str, rows: Sequence[Job]) -> QuerySet[Job]:
    return Job.objects.using(alias).filter(pk__in=[row.pk for row in rows])
