"""A worker: the threads that run the jobs of some queues of one database, in this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType

from django.db import Error

from .. import conf
from ..databases import database
from ..databases.listening import ANY
from ..errors import InvalidError
from ..lifecycle import notices
from ..registry import Declaration
from ..timing.durations import in_words
from .hold import Hold, OnSettled, drop
from .listening import Listening
from .loop import Loop
from .opening import Opening
from .pace import Pace
from .part import Part
from .patience import Patience
from .upkeep import FAREWELL, Upkeep

# Seconds between two looks whether a worker that is to stop has a loop that gets no answer.
LOOK = 0.5


class Worker:
    """Runs jobs from `start` to `stop`; a context manager does both.

    Args:
        declarations: the queues and schedules to run, all of one database, each with a handler.
        concurrency: the most handlers of one queue at once, here; a queue's own total is never passed.
        lease, poll, grace: microseconds; the settings' unless given.
        until_idle: ends once nothing is due and nothing runs.
        max_jobs: ends after so many settled runs.
        on_settled: hears of each settled run, in the loop's thread.

    Raises:
        InvalidError: nothing to run, or queues of more than one database.
    """

    def __init__(
        self,
        declarations: Iterable[Declaration],
        *,
        concurrency: int | None = None,
        lease: int | None = None,
        poll: int | None = None,
        grace: int | None = None,
        until_idle: bool = False,
        max_jobs: int | None = None,
        on_settled: OnSettled | None = None,
    ) -> None:
        self.declarations = _of_one_database(list(declarations))
        self.alias = self.declarations[0].alias
        self.slots = {one.name: slots(one, concurrency) for one in self.declarations}
        self.grace = (conf.grace() if grace is None else grace) / 1e6
        self.poll = conf.poll() if poll is None else poll
        self._hold = Hold(self.declarations, conf.lease() if lease is None else lease, self.woken)
        self._hold.on_settled = on_settled or self._hold.on_settled
        self.patience = Patience(self.alias)
        pace = Pace(self.slots, self.poll / 1e6, until_idle, max_jobs, self.grace)
        self.waits = pace.waits
        self._loop = Loop(self._hold, pace, self.patience)
        self._listening = Listening(self.alias, self.slots, self._loop.wake, self.patience, self._hold.moves)
        self._upkeep = Upkeep(self._hold, self.patience, self._loop.note_lost, at_once=True)
        self._unsubscribe: Callable[[], object] = lambda: None
        self._connect_parts()

    def _connect_parts(self) -> None:
        """Has each part hear what concerns it."""
        self._hold.on_progress = self._upkeep.wake
        for end_pause in (self._loop.wake.set, self._upkeep.wake, self._listening.wake):
            self.patience.on_well(end_pause)
        for part in self._parts:
            part.on_broken = self.ask_to_stop

    @property
    def woken(self) -> str:
        """How it hears of new jobs, in words: "by LISTEN/NOTIFY and every 1s"."""
        heard = database(self.alias).woken(conf.notify())
        return f"{heard}and every {in_words(self.poll)}" if heard else f"every {in_words(self.poll)}"

    @property
    def settled(self) -> int:
        """How many runs it has settled."""
        return self._loop.settled

    @property
    def gave_up(self) -> bool:
        """Whether it ended since its database did not answer for longer than it `waits`."""
        return self._loop.gave_up

    @property
    def _parts(self) -> tuple[Part, ...]:
        return self._loop, self._listening, self._upkeep

    @property
    def is_broken(self) -> bool:
        """Whether one of its own threads was ended by an error, and it with it."""
        return any(part.is_broken for part in self._parts)

    @property
    def abandoned(self) -> bool:
        """Whether it ended with handlers still at work, whose jobs it gave back if the database answered."""
        return self._has_ended() and (not self._loop.ended.is_set() or bool(self._hold.runs))

    def start(self) -> Worker:
        """Opens the schedules and starts the threads. A database that does not answer is waited for by these."""
        opening = Opening(self.declarations)
        self._hold.openings.append(opening.open)
        self._hold.reopen = opening.again
        try:
            with database(self.alias).read_committed():
                self._hold.open()
        except Error as error:
            drop(self.alias)
            self.patience.lost(error)
        self._hold.openings.append(self._take_lost)
        self._unsubscribe = notices.subscribe(self.alias, self._on_notice)
        for part in self._parts:
            part.start()
        return self

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for its end, at most so long; whether it has ended."""
        ends_at = math.inf if seconds is None else time.monotonic() + seconds
        while not self._has_ended() and (left := ends_at - time.monotonic()) > 0:
            # Not by `join`: Python takes a thread for ended whose `join` Ctrl-C has interrupted.
            self._loop.ended.wait(min(left, LOOK))
        if not self._has_ended():
            return False
        self._unsubscribe()
        self._listening.stop()
        self._upkeep.stop()
        if self._listening.is_alive():  # Ctrl-C may come before it is started
            self._listening.join(FAREWELL)
        return True

    def _has_ended(self) -> bool:
        return self._loop.ended.is_set() or self._loop.is_overdue

    def ask_to_stop(self, grace: float | None = None) -> None:
        """Takes no more; its handlers have `grace` seconds to end, the setting's or flag's unless given."""
        self._loop.stop(self.grace if grace is None else grace)

    def stop(self, grace: float | None = None) -> None:
        """Takes no more, waits for its handlers up to `grace` seconds, and gives the rest back."""
        self.ask_to_stop(grace)
        self.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take_lost(self) -> None:
        # Before the first claim: one that is to end when nothing is due must not do so ahead of these.
        while lost := self._hold.sweep():
            self._loop.note_lost(lost)

    def _on_notice(self, queue: str) -> None:
        if queue == ANY or (queue in self.slots and not self._listening.hears):
            self._loop.wake.notice()


def slots(declaration: Declaration, concurrency: int | None) -> int:
    """How many of its handlers run at once in one worker process."""
    given = [limit for limit in (declaration.options.total, concurrency) if limit is not None]
    return min(given, default=1)


def _of_one_database(declarations: Sequence[Declaration]) -> Sequence[Declaration]:
    aliases = {one.alias for one in declarations}
    if len(aliases) != 1:
        raise InvalidError(
            f"queues of the databases {', '.join(sorted(aliases))}: start one worker for each"
            if aliases
            else "no queue to run: declare one in an installed app's jobs.py, or name one"
        )
    names = [one.name for one in declarations]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidError(f"{', '.join(sorted(twice))}: declared on two stores of one database; declare it once")
    return declarations
