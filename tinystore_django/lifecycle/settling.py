"""settle: what a run's end makes of its job, written only while the run is still the job's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..databases import database
from ..databases.rows import Fence, Held, Seen, Settled
from ..fields import as_it_stands
from ..models import Job, Progress, Step
from ..options import QueueOptions
from . import flaws
from .aftermath import Ending, aftermath, damaged

# How often a settle looks again at rows that others changed under it, before it leaves them to the next round.
LOOKS = 3


class Finished(NamedTuple):
    """A run that has ended, and how. Options are None where this process knows nothing of the queue."""

    held: Held
    ending: Ending
    options: QueueOptions | None
    kept_steps: bool = False
    reported: bool = False
    seen: Seen | None = None

    @property
    def plain(self) -> bool:
        """Whether its row just goes, whatever the time is."""
        options, seen = self.options, self.seen
        kept = options is not None and (options.dedupe is not None or options.keep_done is not None)
        goes_on = self.held.repeat or (seen and (seen.repeat or seen.next_at is not None))
        return self.ending.kind == "done" and not (kept or goes_on)

    @property
    def goes_alone(self) -> bool:
        """Whether its row just goes, and there is nothing else to drop."""
        return self.held.run == 1 and not (self.kept_steps or self.reported) and self.plain

    @property
    def cancelled(self) -> bool:
        """Whether its job was seen to be cancelled."""
        return self.seen is not None and self.seen.cancelled

    @property
    def may_have_steps(self) -> bool:
        """Whether steps of its job may be kept. A first run that kept none has none."""
        return self.held.run != 1 or self.kept_steps

    def aftermath(self, now: int) -> Settled | None:
        """What becomes of its row; of one that no rule fits, that it failed."""
        seen = self.seen or Seen(repeat=self.held.repeat)
        try:
            return aftermath(self.held, self.ending, self.options, seen, now)
        except Exception as error:  # with it all that ended beside it would stay unsettled
            name = f"{self.held.queue} pk={self.held.id}"
            return damaged(self.held, flaws.tell(name, flaws.of_error(error), error), seen, now)


@dataclass(frozen=True, slots=True)
class Settling:
    """What became of a batch: each settled job's outcome, by its fence; and the runs to try again, whose
    rows another transaction holds."""

    outcomes: Mapping[Fence, str]
    left: Sequence[Finished]


def settle(alias: str, finished: Sequence[Finished]) -> Settling:
    """Writes what each run ended in. A run that is no longer its job's own settles nothing."""
    outcomes: dict[Fence, str] = {}
    left = list(finished)
    for _ in range(LOOKS):
        if not left:
            break
        rows = _rows(alias, left)
        written = _write(alias, left, rows)
        outcomes.update(
            {one.held.fence: _outcome(one, rows[one.held.fence]) for one in left if one.held.fence in written}
        )
        _drop_more(alias, [one for one in left if one.held.fence in written], rows)
        left = _look_again(alias, [one for one in left if one.held.fence not in written])
    return Settling(outcomes, left)


def _rows(alias: str, finished: Sequence[Finished]) -> dict[Fence, Settled | None]:
    # The clock is a trip to the server, and most runs are done and leave nothing to date.
    now = 0 if all(one.plain for one in finished) else database(alias).now()
    return {one.held.fence: one.aftermath(now) for one in finished}


def _write(alias: str, finished: Sequence[Finished], rows: Mapping[Fence, Settled | None]) -> set[Fence]:
    store = database(alias)
    cancelled = [one.held.fence for one in finished if one.cancelled]
    gone = [one.held.fence for one in finished if rows[one.held.fence] is None and not one.cancelled]
    kept = [row for row in rows.values() if row is not None]
    written = store.remove_cancelled(cancelled) if cancelled else set()
    return written | (store.remove(gone) if gone else set()) | (store.settle(kept) if kept else set())


def _outcome(one: Finished, row: Settled | None) -> str:
    if one.cancelled:
        return "cancelled"
    return "failed" if row is not None and row.state == Job.State.FAILED else one.ending.kind


def _look_again(alias: str, finished: Sequence[Finished]) -> list[Finished]:
    """Those still to settle, with what others wrote on their rows meanwhile; the rest are no longer ours."""
    if not finished:
        return []
    columns = ("id", "run", "lease", "repeat", "next_group", "cancelled")
    jobs = Job.objects.using(alias).only(*columns).annotate(next=as_it_stands("next_at"))
    rows = jobs.in_bulk([one.held.id for one in finished])
    pairs = ((one, rows.get(one.held.id)) for one in finished)
    return [_with_seen(one, row) for one, row in pairs if row is not None and _is_run(row, one.held)]


def _is_run(row: Job, held: Held) -> bool:
    return row.run == held.run and row.lease == held.lease


def _with_seen(one: Finished, row: Any) -> Finished:
    seen = Seen(row.next, row.next_group, row.repeat, row.cancelled)
    return one._replace(seen=seen)


def _drop_more(alias: str, finished: Sequence[Finished], rows: Mapping[Fence, Settled | None]) -> None:
    """Drops the steps of jobs that ended or start afresh, and the progress of every run."""
    runs = [one.held.fence for one in finished if one.may_have_steps]
    if ended := [fence[0] for fence in runs if (row := rows[fence]) is None or row.drops_steps]:
        Step.objects.using(alias).filter(job__in=ended).delete()
    if reported := [one.held.id for one in finished if one.reported]:
        Progress.objects.using(alias).filter(job__in=reported).delete()
