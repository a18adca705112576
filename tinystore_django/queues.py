"""A queue: jobs of one type of value, added, found and changed by their ids, and run by its handler."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Generic, TypeVar, Unpack, cast, overload

from .asynchronous import twin, twin_iterator
from .control import check_not_own_atomic
from .jobs import Job, JobPage
from .lifecycle import adding, adding_many, changing, listing, reading
from .lifecycle.adding_many import text_of
from .lifecycle.placing import When, place
from .options import whole
from .registry import Declaration
from .timing.durations import Span
from .transactions import check_open, warn_of_another
from .values import check_text, may_name
from .watching import reports
from .worker.inline import run_due
from .worker.worker import Worker

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Queue(Generic[T]):
    """One queue of a store. Made by `store.queue(...)`.

    Every call joins the `atomic` block that is open on the queue's database, if there is one.
    """

    def __init__(self, declaration: Declaration, within: object = None) -> None:
        self._declaration = declaration
        self._within = within

    @property
    def name(self) -> str:
        """What it was declared as."""
        return self._declaration.name

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"

    def add(self, value: T, *, id: str | None = None, **when: Unpack[When]) -> bool:
        """Adds a job unless its id is taken, and says whether it added one.

        Args:
            value: what the handler gets; it must be of the queue's type.
            id: names the job, so that it can be found, changed or cancelled; at most one job has it at a time.
            at, delay: when it is due, an aware datetime or a span such as "1h30m"; at once unless given.
            group: what the limits of a group count together.
            every, cron, time_zone: repeat it, see docs/guides/schedules; a repeat needs an id.

        Raises:
            InvalidError: an argument cannot be what it is given as.
            LimitError: the value is over 1 MiB, or the queue holds `max_waiting` jobs.
        """
        text = self._declaration.codec.write(value)
        key = None if id is None else check_text(id, "id")
        placing = place("add", key, **when)
        alias = self._alias()
        warn_of_another(alias, self._declaration)
        options = self._declaration.options
        new = adding.new_job(alias, self.name, key, text, placing, options.heads, options.max_waiting)
        return adding.add(alias, new)

    def add_many(
        self,
        values: Iterable[T],
        *,
        id: Callable[[T], str | None] | None = None,
        at: datetime | None = None,
        delay: Span | None = None,
        group: Callable[[T], str | None] | None = None,
    ) -> int:
        """Adds many jobs in few statements, all of them or none; how many, for ids that are taken are skipped.

        Args:
            values: each as in `add`; all are read and checked before the first is added.
            id, group: functions of the value.
            at, delay: when they are due, all at one time.

        Raises:
            InvalidError: an argument cannot be what it is given as, or one of the values, ids or groups.
            LimitError: a value is over 1 MiB, or with them more than `max_waiting` jobs would wait.
        """
        adding_many.check_many(values, id=id, group=group)
        write = self._declaration.codec.write
        jobs = [(text_of(id, value, "id"), write(value), text_of(group, value, "group")) for value in values]
        placing = place("add_many", None, at=at, delay=delay)
        alias = self._alias()
        warn_of_another(alias, self._declaration)
        return adding_many.add_many(alias, self.name, jobs, placing, self._declaration.options)

    def set(self, id: str, value: T, **when: Unpack[When]) -> None:
        """Makes the id's job this one: adds it, or replaces its value and time; a running one gets one run more.

        Takes and raises what `add` does. A time that is not given is now.
        """
        text = self._declaration.codec.write(value)
        placing = place("set", check_text(id, "id"), **when)
        alias = self._alias()
        warn_of_another(alias, self._declaration)
        changing.set_(alias, self.name, id, text, placing, self._declaration.options)

    def update(self, id: str, value: T, **when: Unpack[When]) -> bool:
        """Changes the id's job if it has not started, and says whether it did. What is not given stays.

        Takes and raises what `add` does, but LimitError for `max_waiting`.
        """
        text = self._declaration.codec.write(value)
        placing = place("update", check_text(id, "id"), **when)
        return changing.update(self._alias(), self.name, id, text, placing)

    def cancel(self, id: str) -> bool:
        """Takes the id's job away, and says whether there was one. A running one's handler is told to stop.

        Raises:
            InvalidError: the id is no text, or a handler with `atomic=True` cancels the job it runs.
        """
        alias = self._alias()
        if not may_name(id):
            return False
        check_not_own_atomic(alias, self.name, id)
        return changing.cancel(alias, self.name, id)

    def get(self, id: str) -> Job[T] | None:
        """The id's job as it is now, or None. Raises InvalidError where the id is no text."""
        alias, declaration = self._alias(), self._declaration
        return reading.get(alias, self.name, id, declaration.codec, declaration.options.group) if may_name(id) else None

    def watch(self, id: str, *, timeout: float | Span | None = None) -> Iterator[Job[T]]:
        """The id's job as it is, then again whenever its state, ahead, attempt, at, progress or error has changed; the
        last is done, failed or cancelled. Nothing where the id has no job.

        Args:
            timeout: ends it quietly, after so many seconds or a span; it goes on to the job's end unless given.

        Raises:
            InvalidError: the id is no text, or the timeout cannot be one.
        """
        self._alias()
        return reports.watch(self._declaration, id, reports.deadline(timeout))

    def awatch(self, id: str, *, timeout: float | Span | None = None) -> AsyncGenerator[Job[T], None]:
        """The async twin of `watch`, for `async for`."""
        self._alias()
        return cast("AsyncGenerator[Job[T], None]", reports.awatch(self._declaration, id, reports.deadline(timeout)))

    def list(
        self, *, prefix: str | None = None, state: str | None = None, after: str | None = None, limit: int = 100
    ) -> JobPage[T]:
        """A page of the queue's scheduled, waiting, running and failed jobs.

        Those with ids come first, in the order of their ids' bytes, then those without, as they were added; with
        state="failed" it is the latest end first.

        Args:
            prefix: only ids that begin with this plain text.
            state: only scheduled, waiting, running or failed jobs.
            after: where the page begins: the `next` of the page before, or any text in the order of ids.
            limit: the most jobs, 1 to 1,000; there are fewer where their values would pass 4 MiB.

        Raises:
            InvalidError: one of them cannot be what it is given as.
        """
        asked = listing.wanted(self._alias(), self.name, prefix, state)
        return listing.page(asked, self._declaration.codec, after, limit)

    def all(self, *, prefix: str | None = None, state: str | None = None) -> Iterator[Job[T]]:
        """The jobs of all pages of `list`, each page read when its first job is asked for.

        Raises:
            InvalidError: one of them cannot be what it is given as.
        """
        return listing.every(listing.wanted(self._alias(), self.name, prefix, state), self._declaration.codec)

    def in_(self, transaction: object) -> Queue[T]:
        """The queue inside an open transaction of its database: what it adds commits with it, or not at all.

        Args:
            transaction: `django.db.transaction`, an alias, or a connection.

        Raises:
            InvalidError: no `atomic` block is open on the queue's database, now or at a later call.
        """
        check_open(transaction, self._declaration)
        return Queue(self._declaration, transaction)

    @overload
    def handler(self, fn: F) -> F: ...
    @overload
    def handler(self, *, atomic: bool) -> Callable[[F], F]: ...
    def handler(self, fn: F | None = None, *, atomic: bool = False) -> F | Callable[[F], F]:
        """Makes a function the queue's handler: `(value, run)` or `(value)`, sync or async.

        With `atomic=True` the rows it writes and the job's being done commit together, or neither does.

        Raises:
            InvalidError: the queue has one already, or it cannot be one.
        """

        def register(fn: F) -> F:
            self._declaration.register(fn, atomic)
            return fn

        return register if fn is None else register(fn)

    def work(self, handler: Callable[..., Any] | None = None, *, concurrency: int | None = None) -> Worker:
        """Starts a worker of this queue in this process: `with emails.work(): ...`, or its `stop()`.

        Raises:
            InvalidError: there is no handler, or the concurrency is not a whole number from 1.
        """
        declaration = self._declaration.handled_by(handler)
        return Worker([declaration], concurrency=_concurrency(concurrency)).start()

    def run_due(
        self, handler: Callable[..., Any] | None = None, *, concurrency: int | None = None, raises: bool = False
    ) -> int:
        """Runs in this thread what is due, and what falls due meanwhile; how many runs were settled.

        Inside an open transaction each handler runs in a savepoint, and a concurrency above 1 uses no threads. With
        `raises` the first exception of a handler ends it, once its run is settled, and is raised; else none is.

        Raises:
            InvalidError: there is no handler, or the concurrency is not a whole number from 1.
        """
        return run_due([self._declaration.handled_by(handler)], _concurrency(concurrency), raises)

    aadd = twin(add)
    aadd_many = twin(add_many)
    aset = twin(set)
    aupdate = twin(update)
    acancel = twin(cancel)
    aget = twin(get)
    alist = twin(list)
    aall = twin_iterator(all)
    arun_due = twin(run_due)

    def _alias(self) -> str:
        if self._within is not None:
            check_open(self._within, self._declaration)
        return self._declaration.alias


def _concurrency(concurrency: int | None) -> int | None:
    return None if concurrency is None else whole(concurrency, "concurrency")
