"""A store: the queues and schedules of one database."""

from __future__ import annotations

from typing import Any, TypedDict, TypeVar, Unpack, overload

from .errors import InvalidError
from .options import Backoff, Concurrency, check_known, check_name, queue_options
from .queues import Queue
from .registry import Declaration, Registry
from .schedules import Schedule
from .timing.durations import Span
from .timing.repeats import repeat
from .values import Codec

T = TypeVar("T")


class Options(TypedDict, total=False):
    """What a queue may be told; each is checked when it is declared."""

    attempts: int
    backoff: Backoff
    timeout: Span
    concurrency: int | Concurrency | None
    rate: str | None
    group_rate: str | None
    dedupe: Span | None
    keep: Span
    keep_done: Span | None
    max_waiting: int | None


class ScheduleOptions(TypedDict, total=False):
    """What a schedule may be told."""

    every: Span | None
    cron: str | None
    time_zone: str | None
    attempts: int
    backoff: Backoff
    timeout: Span


class Store:
    """Declares queues and schedules. It touches no database.

    Args:
        using: the alias of its database; the one the project's routers name for writing jobs unless given.
    """

    def __init__(self, using: str | None = None) -> None:
        self._registry = Registry(using)

    @overload
    def queue(self, name: str, **options: Unpack[Options]) -> Queue[Any]: ...
    @overload
    def queue(self, name: str, of: type[T], **options: Unpack[Options]) -> Queue[T]: ...
    @overload
    def queue(self, name: str, of: Any, **options: Unpack[Options]) -> Queue[Any]: ...
    def queue(self, name: str, of: Any = Any, **options: Unpack[Options]) -> Queue[Any]:
        """Declares a queue: `store.queue("emails", Email, attempts=5)`.

        Args:
            name: 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit.
            of: the type of its values; without one, only what JSON itself has.
            attempts: runs of a job in all before it has failed, the first counted; 10.
            backoff: how long a job waits after a failed attempt; Backoff("1s", "1h").
            timeout: how long a run may take before it is told to stop; "1m".
            concurrency: how many run at once, in one process and over all of them.
            rate, group_rate: how many may start in a span, such as "30/s".
            dedupe: how long a done job's id stays taken.
            keep: how long failed jobs stay; "7d".
            keep_done: how long the rows of done jobs stay, for the admin and the ORM.
            max_waiting: how many jobs may be waiting before an add is refused.

        Raises:
            InvalidError: the name, the type or an option cannot be; or it is declared already, otherwise.
        """
        check_known("Store.queue", options, ("of", *Options.__annotations__))
        declaration = Declaration(self._registry, check_name(name), Codec(of), queue_options(**options))
        return Queue(self._registry.declare(declaration))

    def schedule(self, name: str, **options: Unpack[ScheduleOptions]) -> Schedule:
        """Declares a schedule: `store.schedule("cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")`.

        Args:
            name: as a queue's; queues and schedules share their names.
            every: a span of at least 1 s between two runs.
            cron: five fields, read in time_zone, settings.TIME_ZONE unless given.
            attempts, backoff, timeout: as a queue's.

        Raises:
            InvalidError: one of them cannot be; or the name is declared already, otherwise.
        """
        check_known("Store.schedule", options, ScheduleOptions.__annotations__)
        given: dict[str, Any] = {**options}
        when = {one: given.pop(one, None) for one in ("every", "cron", "time_zone")}
        chosen = queue_options(**given)
        ticks = repeat(check_name(name, "schedule"), **when)
        if ticks is None:
            raise InvalidError(f"schedule {name!r} has no repeat: give every='10m' or cron='10 3 * * *'")
        return Schedule(self._registry.declare(Declaration(self._registry, name, Codec(type(None)), chosen, ticks)))


store = Store()
