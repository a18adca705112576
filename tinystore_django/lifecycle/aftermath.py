"""What a job's row becomes when a run of it ends: the rules of retries, repeats and keeps, without a database."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Literal

from ..databases.rows import Held, Seen, Settled
from ..errors import CorruptError
from ..models import Job
from ..options import QueueOptions
from ..timing.clock import LATEST
from ..timing.moments import capped
from ..timing.repeats import read

State = Job.State
# "aside": given back, and not to be claimed before it is brought back.
# "spent": claimed with no attempt left, because the worker that took it back did not know how many it has.
Kind = Literal["done", "retry", "snoozed", "failed", "lost", "given back", "aside", "spent"]
LOST = "the worker was lost"
# For a job whose queue this process does not know: as long as a queue keeps its failed jobs unless told, 7 days.
KEEP = 7 * 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. A retry or snooze has its time as `at`, or as `delay` from the end; a retry may have neither."""

    kind: Kind
    error: str | None = None
    traceback: str | None = None
    at: int | None = None
    delay: int | None = None
    raised: bool = False  # not an answer: what an atomic handler wrote is rolled back
    exception: BaseException | None = field(default=None, compare=False)

    def time(self, now: int) -> int | None:
        """When the answer asks the job to run again, brought into the years that can be written."""
        if self.at is not None:
            return self.at
        return None if self.delay is None else capped(now + self.delay)


def aftermath(held: Held, ending: Ending, options: QueueOptions | None, seen: Seen, now: int) -> Settled | None:
    """The row after the run, or None where nothing of it stays."""
    if seen.cancelled:
        return None
    # Its repeat may have been changed while it ran.
    held = held._replace(repeat=seen.repeat, at=capped(held.at))
    if seen.next_at is not None:
        return _run_more(held, ending, seen, now)
    if ending.kind in ("given back", "aside"):
        row = replace(_again(held, now, held.attempt - 1), keep_error=True, last_started_at=None, last_ended_at=None)
        return row if ending.kind == "given back" else replace(row, state=State.ASIDE)
    if ending.kind == "snoozed":
        return replace(_again(held, now, held.attempt - 1), at=ending.time(now), keep_error=True)
    if ending.kind == "done":
        return _tick(held, None, now) if held.repeat else _done(held, options, now)
    if _tries_left(held, ending, options):
        return _retry(held, ending, options, now)
    return _tick(held, ending, now) if held.repeat else _failed(held, ending, options, now)


def damaged(held: Held, error: str, seen: Seen, now: int) -> Settled | None:
    """The row after a run that no rule fits, since it says what no job's row does: failed."""
    if seen.cancelled:
        return None
    sound = held._replace(at=now, repeat=seen.repeat, attempt=0, started_at=now)
    row = _failed(sound, Ending("failed", error), None, now)
    return replace(row, seen_next=seen.next_at)


def _tries_left(held: Held, ending: Ending, options: QueueOptions | None) -> bool:
    # A queue this process does not know is judged by the worker that claims the job next.
    return ending.kind not in ("failed", "spent") and (options is None or held.attempt < options.attempts)


def _again(held: Held, now: int, attempt: int) -> Settled:
    return Settled(
        fence=held.fence,
        seen_next=None,
        seen_repeat=held.repeat,
        state=State.READY,
        attempt=attempt,
        at=None,
        due=held.at,
        group=held.group,
        last_started_at=held.started_at,
        last_ended_at=now,
    )


def _fresh(held: Held, now: int, at: int) -> Settled:
    return replace(_again(held, now, 0), at=at, due=at, drops_steps=True)


def _run_more(held: Held, ending: Ending, seen: Seen, now: int) -> Settled:
    """The run that `set` asked for meanwhile, in the place of what the ended one asked for."""
    assert seen.next_at is not None
    at = capped(seen.next_at)
    if seen.repeat:
        at = min(at, _next(seen.repeat, now)[0])
    row = replace(_fresh(held, now, at), seen_next=seen.next_at, group=seen.next_group)
    return row if ending.kind in ("done", "snoozed", "given back", "aside") else _with_error(row, ending)


def _tick(held: Held, ending: Ending | None, now: int) -> Settled:
    """A repeating job's next tick; a failed run's error stays until a good one."""
    assert held.repeat is not None
    at, unread = _next(held.repeat, now)
    row = _fresh(held, now, at)
    if unread:
        return replace(row, error=unread, traceback=ending.traceback if ending else None)
    return _with_error(row, ending) if ending else row


def _next(repeat: str, now: int) -> tuple[int, str | None]:
    """The next tick; or the end of the calendar, and why there is none: the zone may have left the time zone data."""
    try:
        return read(repeat).next(now), None
    except CorruptError as error:
        return LATEST, str(error)


def _retry(held: Held, ending: Ending, options: QueueOptions | None, now: int) -> Settled:
    at = held.at if ending.kind == "lost" else ending.time(now)
    if at is None:
        assert options is not None
        at = capped(now + options.backoff.jittered(held.attempt, random.random()))
    if held.repeat:
        at = min(at, _next(held.repeat, now)[0])
    return _with_error(replace(_again(held, now, held.attempt), at=at), ending)


def _failed(held: Held, ending: Ending, options: QueueOptions | None, now: int) -> Settled:
    until = capped(now + (options.keep if options else KEEP))
    attempt = held.attempt - 1 if ending.kind == "spent" else held.attempt
    row = replace(_again(held, now, attempt), state=State.FAILED, at=held.at, drops_steps=True)
    return _with_error(replace(row, ended_at=now, until=until, kept_until=until), ending)


def _done(held: Held, options: QueueOptions | None, now: int) -> Settled | None:
    dedupe = options.dedupe if options else None
    keep_done = options.keep_done if options else None
    if dedupe is None and keep_done is None:
        return None
    until = capped(now + (dedupe or 0))
    kept_until = max(until, capped(now + (keep_done or 0)))
    row = replace(_again(held, now, held.attempt), state=State.DONE, at=held.at, drops_steps=True)
    return replace(row, ended_at=now, until=until, kept_until=kept_until, released=not dedupe)


def _with_error(row: Settled, ending: Ending) -> Settled:
    if ending.kind == "spent":
        return replace(row, keep_error=True, last_started_at=None, last_ended_at=None)
    return replace(row, error=ending.error, traceback=ending.traceback)
