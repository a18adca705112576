"""A job as its queue shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

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


# Without slots, as the page below: on Python 3.11, Job[Email](...) fails for a frozen class that has them.
@dataclass(frozen=True, kw_only=True, repr=False)
class Job(Generic[T]):
    """A job as it was when it was read; it does not change after.

    `state` is scheduled, waiting, running, failed, done or cancelled. `at`, an aware datetime, is when it is
    due, or was. `attempt` counts its runs so far, `ahead` the waiting jobs that start before it. `repeat` is
    how its repeat is kept: "@every 30s +18005ms", "10 3 * * * Europe/Berlin".
    """

    id: str | None
    kept: T | Unreadable
    state: str
    at: datetime
    attempt: int = 0
    ahead: int = 0
    progress: Any = None
    error: str | None = None
    group: str | None = None
    repeat: str | None = None
    last_run: LastRun | None = None

    @property
    def value(self) -> T:
        """The value that was added. Raises CorruptError if its row no longer reads as the queue's type."""
        if isinstance(self.kept, Unreadable):
            raise CorruptError(self.kept.why)
        return self.kept

    def __repr__(self) -> str:
        # `kept` goes by the name that a program knows.
        names = {"value" if name == "kept" else name: name for name in self.__dataclass_fields__}
        return f"Job({', '.join(f'{shown}={getattr(self, name)!r}' for shown, name in names.items())})"


@dataclass(frozen=True)
class JobPage(Generic[T]):
    """Some of a queue's jobs; `next` is what the next page takes as `after`, None on the last."""

    jobs: list[Job[T]]
    next: str | None = None
