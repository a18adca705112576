"""What the store asks of a database that the ORM cannot say for all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from operator import itemgetter
from typing import Any, ClassVar

from django.db import DatabaseError
from django.db.models.expressions import BaseExpression, Func

from ..timing import clock
from ..timing.durations import UNITS
from .inserting import insert
from .limits import Limits
from .listening import Listener
from .rows import Batch, Claimed, Count, Fence, Held, NewJob, Renewal, Settled, Start
from .statements import NUMBERS, Statements

MINUTES_KEPT = UNITS["d"]  # how long the sums of a minute stay


class Database(Statements):
    """One alias."""

    vendor: ClassVar[str]

    # It takes no lock on the job's row and does not write it. So a report can cross its run's settle and be left
    # behind, or cross the next run's first report: it is never shown, since its run is not the row's any more.
    REPORT = """
        insert into tinystore_django_progress (job, run, progress)
        select id, run, %(progress)s from tinystore_django_job
        where id = %(id)s and run = %(run)s and lease = %(lease)s and not cancelled
        on conflict (job) do update set run = excluded.run, progress = excluded.progress
        where tinystore_django_progress.run <= excluded.run
    """

    # That a queue is not paused. It is asked in the statement that claims, so that no worker has to hear of a pause.
    PLAYING = """not exists (select 1 from tinystore_django_queue paused
              where paused.name = {queue} and paused.paused_at is not null)"""

    # That nobody has changed a running job's row: what was written there says what becomes of it.
    UNTOUCHED = "next_at is null and repeat is null and not cancelled"

    # Whoever renews also learns what there is to do. A job's run is looked up for each report, and a job's lease: of a
    # `not exists` PostgreSQL may make a join that scans all jobs; and in an order, as HEADS says.
    RENEW = f"""
        update tinystore_django_lease set renewed_at = {{now}}, expires_at = {{now}} + %(span)s where id = %(lease)s
        returning {{now}},
          (select min(other.expires_at) from tinystore_django_lease other where other.id <> %(lease)s
            and other.expires_at <= {NUMBERS}),
          (select id from tinystore_django_job job where state = 1
            and (select held.id from tinystore_django_lease held where held.id = job.lease) is null
            order by queue, started_at limit 1) is not null,
          (select id from tinystore_django_job where kept_until <= {{now}} order by kept_until limit 1) is not null
            or exists (select 1 from tinystore_django_progress left_behind where left_behind.run <> coalesce((
              select run from tinystore_django_job where id = left_behind.job and lease is not null), -1))
            or exists (select 1 from tinystore_django_minute where minute <= {{now}} - %(day)s)
            or exists (select 1 from tinystore_django_group where until <= {{now}} - 60000000)
            or exists (select 1 from tinystore_django_cancel where until <= {{now}})
    """

    LIMITS: ClassVar[type[Limits]]
    SUMS: ClassVar[str]  # the rows of `sums.ADD_UP`
    AMONG: ClassVar[str]  # the condition that compares with `array`

    def __init__(self, alias: str) -> None:
        super().__init__(alias)
        self.limits = self.LIMITS(self.run_all)

    def insert(self, new: NewJob, unless_taken: bool = True) -> bool:
        """Adds a job unless its id is taken or its queue is full; whether it did.

        Raises:
            IntegrityError: the row is in conflict with another, though not by its id; without `unless_taken`, also
                where the id is taken.
        """
        sql, parameters = insert(new, self.UNLESS_TAKEN if unless_taken else "")
        with self.connection.cursor() as cursor:
            cursor.execute(self.timed(sql), {**parameters, "now": clock.now()})
            return bool(cursor.rowcount > 0)

    def renew(self, lease: int, span: int) -> Renewal | None:
        """Makes a lease last `span` from now; None if it is no longer there."""
        renewed = self.run(self.RENEW, {"lease": lease, "span": span, "day": MINUTES_KEPT})
        return Renewal(*renewed[0][:2], *map(bool, renewed[0][2:])) if renewed else None

    def report(self, fence: Fence, progress: str) -> None:
        """Writes how far a run is, while the run is still the job's own."""
        job, run, lease = fence
        self.run(self.REPORT, {"id": job, "run": run, "lease": lease, "progress": progress})

    def is_alone(self) -> bool:
        """Whether no other thread sees what this one does."""
        return self.in_transaction()

    @abstractmethod
    def array(self, values: Sequence[int] | Sequence[str]) -> Any:
        """Numbers as the one parameter that `AMONG` compares with; names as the one that is taken apart again."""

    @abstractmethod
    def encoding(self) -> str:
        """How the database writes its texts, such as UTF8."""

    def forbidden(self) -> list[str]:
        """Those of our tables in which this role may not read and write; none where there are no roles."""
        return []

    @abstractmethod
    def now(self) -> int:
        """The time by the database's clock, or the test clock's when one is set."""

    @abstractmethod
    def now_expression(self) -> BaseExpression:
        """`now` inside a query of the ORM."""

    @abstractmethod
    def size_expression(self, column: str) -> Func:
        """How many bytes a text has in UTF-8, inside a query of the ORM."""

    @abstractmethod
    def insert_many(self, batch: Batch) -> int:
        """Adds many jobs but those whose ids are taken; how many it added."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """A transaction for reading and then writing: the one already open, or a new one."""

    @abstractmethod
    def own_transaction(self) -> AbstractContextManager[Any]:
        """The same for what no code of the project's runs in, READ COMMITTED whatever the project's are."""

    def read_committed(self) -> AbstractContextManager[Any]:
        """A block of what a worker does: this thread's statements outside of a transaction are READ COMMITTED, too."""
        return nullcontext()

    @abstractmethod
    def hasten(self, seconds: float = 1.0) -> None:
        """Has this thread's connection wait for the lock of a whole database so long at most. At the end of a worker a
        handler that does not end may hold it; and the thread beside its loop has more to do than to wait."""

    def quick_reads(self) -> AbstractContextManager[Any]:
        """A block of statements that read little of much, and are not worth a long preparation."""
        return nullcontext()

    @abstractmethod
    def claim(
        self,
        lease: int,
        wanted: Mapping[str, int],
        ended: Sequence[Fence] = (),
        totals: Mapping[str, int] | None = None,
        lets_go: bool = False,
        starts: Mapping[str, Start] | None = None,
        counts: Mapping[str, Count] | None = None,
    ) -> Claimed:
        """Removes the jobs of ended runs as `remove` does, and marks as running up to `wanted[queue]` due jobs of
        each queue, the earliest first, and no more than leave `totals[queue]` running: all in one transaction. Of one
        that is open, `lets_go` says what it says of `Limits.lock`. It may leave what is before `starts[queue]`, and
        counts what runs as `counts[queue]` says, in full where it says nothing.

        Nothing is claimed where an ended run's row stays: the job's next run may come before all others, and a
        cancelled job still counts."""

    @abstractmethod
    def remove(self, runs: Sequence[Fence]) -> set[Fence]:
        """Deletes the jobs of these runs, but for those that others changed meanwhile: set again, made to repeat, or
        cancelled; the runs it settled so."""

    @abstractmethod
    def remove_cancelled(self, runs: Sequence[Fence]) -> set[Fence]:
        """Deletes the cancelled jobs of these runs, whatever else was written there; the runs it settled so."""

    @abstractmethod
    def settle(self, rows: Sequence[Settled]) -> set[Fence]:
        """Writes the rows whose run is still this one and that nobody changed since; the runs it settled so."""

    @abstractmethod
    def is_locked_out(self, error: DatabaseError) -> bool:
        """Whether a claim gave up waiting for the row of a limited queue."""

    @abstractmethod
    def is_deadlock(self, error: DatabaseError) -> bool:
        """Whether a statement was ended because two transactions waited for each other."""

    @abstractmethod
    def is_useless(self, error: DatabaseError) -> bool:
        """Whether a statement told that its connection, alive as it is, can do no work any more: that of a server that
        has become read-only, or one that keeps the plan of a table that has been changed."""

    @abstractmethod
    def clear(self, most: int, remembered: int) -> int:
        """Deletes up to `most` rows past their keep, a failed job's not before `remembered` microseconds after its
        end; how many it deleted."""

    @abstractmethod
    def rest(self) -> float:
        """How many seconds a worker leaves to others between two rounds that wrote something."""

    @abstractmethod
    def tell(self, queue: str) -> None:
        """Wakes the listeners of every process, if the database can."""

    @abstractmethod
    def tell_workers(self, watched: Sequence[str]) -> None:
        """Says to the workers of every process that somebody watches jobs of these queues, if the database can."""

    @abstractmethod
    def tell_watchers(self, moved: Sequence[str]) -> None:
        """Says to whoever watches that jobs of these queues moved on, if the database can."""

    @abstractmethod
    def listener(self, notify: bool, moves: bool = False) -> Listener | None:
        """A new source of notices; None where there is none, and a poll must do.

        With `moves` also of what `tell_watchers` says.
        """

    @abstractmethod
    def woken(self, notify: bool) -> str:
        """How a worker is woken, in words that another adverb may follow; empty where only a poll wakes it."""

    @abstractmethod
    def is_clean(self) -> bool:
        """Whether this thread's connection, which a handler has just used, is alive and outside any transaction."""

    @abstractmethod
    def is_alive(self) -> bool:
        """Whether this thread's connection, idle for a while, can be used: cheap where nothing is wrong."""


_ORDER = itemgetter(-1, 0)


def held(lease: int, rows: Iterable[tuple[Any, ...]]) -> list[Held]:
    """The claimed rows (id, run, queue, key, value, due, attempt, group, repeat, started_at, at) as values, in the
    order to start them."""
    ordered = sorted(rows, key=_ORDER)
    return [Held._make((*row[:2], lease, *row[2:-1], row[-2] - row[-1])) for row in ordered]


def parameters(row: Settled) -> dict[str, Any]:
    """A settled row as the parameters of its statement."""
    job, run, lease = row.fence
    columns = asdict(row)
    del columns["fence"]  # SQLite cannot bind it, and under DEBUG Django binds every parameter
    return {**columns, "id": job, "run": run, "lease": lease}
