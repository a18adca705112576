"""A job as its queue shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, overload

from .errors import CorruptError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for the value of a job whose row no longer reads as its queue's type, and says why."""

    why: str


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run of a job that was settled; a lost worker's too."""

    started_at: datetime
    ended_at: datetime


class Value(Generic[T]):
    """The field `value` of a job: what was added; where its row no longer reads, why is raised."""

    @overload
    def __get__(self, job: None, owner: type[Job[Any]]) -> T: ...
    @overload
    def __get__(self, job: Job[Any], owner: type[Job[Any]]) -> T: ...
    def __get__(self, job: Job[Any] | None, owner: type[Job[Any]]) -> T:
        if job is None:
            raise AttributeError("value")  # so that the field has no default
        kept: T | Unreadable = kept_by(job)
        if isinstance(kept, Unreadable):
            raise CorruptError(kept.why)
        return kept

    def __set__(self, job: Job[Any], kept: T | Unreadable) -> None:
        vars(job)["value"] = kept


# Without slots, as the page below: on Python 3.11, Job[Email](...) fails for a frozen class that has them.
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Job(Generic[T]):
    """A job as it was when it was read; it does not change after.

    `value` is what was added; it raises CorruptError if its row no longer reads as the queue's type. `state` is
    scheduled, waiting, running, failed, done or cancelled. `at`, an aware datetime, is when it is due, or was.
    `attempt` counts its runs so far, `ahead` the waiting jobs that start before it. `repeat` is how its repeat
    is kept: "@every 30s +18005ms", "10 3 * * * Europe/Berlin".
    """

    id: str | None
    value: Value[T] = Value()
    state: str
    at: datetime
    attempt: int = 0
    ahead: int = 0
    progress: Any = None
    error: str | None = None
    group: str | None = None
    repeat: str | None = None
    last_run: LastRun | None = None

    def __repr__(self) -> str:
        return f"Job({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    # By what it holds, so that a job whose value no longer reads is compared and shown as well.
    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Job) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))


def kept_by(job: Job[Any]) -> Any:
    """What a job's row keeps as its value; an Unreadable where that no longer reads."""
    return vars(job)["value"]


def changed(job: Job[T], **fields: Any) -> Job[T]:
    """The job with other fields; `dataclasses.replace` would ask for a value that no longer reads."""
    return Job(**{**vars(job), **fields})


@dataclass(frozen=True)
class JobPage(Generic[T]):
    """Some of a queue's jobs; `next` is what the next page takes as `after`, None on the last."""

    jobs: list[Job[T]]
    next: str | None = None
