"""add_many: many jobs at once, but those whose ids are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from django.db import OperationalError, transaction

from ..databases import database
from ..databases.rows import Batch
from ..errors import InvalidError, quoted
from ..models import Job
from ..options import QueueOptions
from ..values import check_text
from . import notices
from .adding import check_room, in_turn, not_kept
from .asides import bring_back
from .placing import Placing

T = TypeVar("T")

# Jobs in one statement, and characters of values: enough that its trip costs nothing beside them, few enough to hold
# in memory some times over.
MOST = 5_000
LONGEST = 8 * 1024 * 1024

# How often a call that a deadlock ended is made.
TRIES = 5

Given = tuple[str | None, str, str | None]
Added = tuple[str | None, str, str | None, int]


def add_many(alias: str, queue: str, jobs: Sequence[Given], placing: Placing, options: QueueOptions) -> int:
    """Adds jobs, each as its id, value and group, all or none; how many of their ids were free.

    Raises:
        LimitError: with them, more than `max_waiting` jobs would wait.
        ConflictError: the database takes the rows of some that have no id, and does not keep them.
    """
    stated = _with_states(jobs, options.heads)
    with in_turn(alias, queue, options.max_waiting):
        added = _add_all(alias, queue, stated, placing, options.max_waiting)
    if added < len(jobs) and options.heads is not None:
        # Those whose ids were taken may have been the ones to bring the others of their group back.
        groups = {group for _, _, group, state in stated if group is not None and state == Job.State.ASIDE}
        bring_back(alias, queue, dict.fromkeys(groups, options.heads))
    if added:
        notices.changed(alias, queue)
    return added


def _with_states(jobs: Sequence[Given], heads: int | None) -> list[Added]:
    """Each with its state: behind so many of its group it is set aside at once."""
    before: Counter[str] = Counter()
    return [(*job, _state(job[2], heads, before)) for job in jobs]


def _state(group: str | None, heads: int | None, before: Counter[str]) -> int:
    if group is None or heads is None:
        return Job.State.READY
    before[group] += 1
    return Job.State.READY if before[group] <= heads else Job.State.ASIDE


def _add_all(alias: str, queue: str, jobs: Sequence[Added], placing: Placing, max_waiting: int | None) -> int:
    for _ in range(TRIES - 1):
        try:
            return _try_all(alias, queue, jobs, placing, max_waiting)
        except OperationalError as error:
            # Two calls that share ids, in different orders: the one that gave way begins again.
            if not database(alias).is_deadlock(error):
                raise
    return _try_all(alias, queue, jobs, placing, max_waiting)


def _try_all(alias: str, queue: str, jobs: Sequence[Added], placing: Placing, max_waiting: int | None) -> int:
    # A savepoint where a transaction is open: an error takes back what was added, and no more.
    store = database(alias)
    with transaction.atomic(using=alias) if store.in_transaction() else store.own_transaction():
        at = placing.time(store.now())
        added = sum(_insert(alias, Batch(queue, some, at)) for some in _batches(jobs))
        if added:
            check_room(alias, queue, max_waiting, more=0)
    return added


def _insert(alias: str, batch: Batch) -> int:
    added = database(alias).insert_many(batch)
    if added == len(batch.jobs):
        return added
    named = [job for job in batch.jobs if job[0] is not None]
    if added < len(batch.jobs) - len(named):  # what has no id is in nobody's way
        raise not_kept(batch.queue, None)
    if _release(alias, batch):
        # Those without ids are in already.
        added += database(alias).insert_many(replace(batch, jobs=named))
    return added


def _release(alias: str, batch: Batch) -> bool:
    """Frees those of the ids whose jobs are past their keep; whether there were any."""
    keys = [job[0] for job in batch.jobs if job[0] is not None]
    rows = Job.objects.using(alias).filter(queue=batch.queue, key__in=keys, released=False)
    return rows.filter(until__lte=database(alias).now_expression()).update(released=True) > 0


def _batches(jobs: Sequence[Added]) -> Iterator[list[Added]]:
    batch: list[Added] = []
    length = 0
    for job in jobs:
        if batch and (len(batch) == MOST or length + len(job[1]) > LONGEST):
            yield batch
            batch, length = [], 0
        batch.append(job)
        length += len(job[1])
    if batch:
        yield batch


def check_many(values: object, **functions: object) -> None:
    """Raises InvalidError unless add_many can go through the values, and call its functions of them."""
    if not isinstance(values, Iterable):
        raise InvalidError(f"values {quoted(values)}: give a list, or anything that can be gone through")
    for what, function in functions.items():
        if not (function is None or callable(function)):
            raise InvalidError(f"{what} {quoted(function)}: give a function of the value, such as a lambda")


def text_of(function: Callable[[T], str | None] | None, value: T, what: str) -> str | None:
    """The id or group that a function gives of a value, checked."""
    text = None if function is None else function(value)
    return None if text is None else check_text(text, what)
