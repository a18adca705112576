"""What the claim of a limited queue asks of its database, under the lock of the queue's row."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .given import as_jobs, as_json, as_starts
from .limit_statements import LimitStatements
from .rows import BEGINNING, Aside, Count, GroupStarts, Head, Locked, Looked, Shared, Start, Waiting

Rows = list[tuple[Any, ...]]
RunAll = Callable[[Sequence[str], dict[str, Any]], list[Rows]]


class Limits(LimitStatements, ABC):
    """The statements of limited queues on one database. Those that count or choose need the lock.

    What belongs together goes to the server in one trip: while it lasts, all other workers wait.
    """

    def __init__(self, run_all: RunAll) -> None:
        self._run_all = run_all

    def heads(self, queues: Collection[str]) -> tuple[int, dict[str, Head]]:
        """What each queue has to claim, without its lock, and the time this was; paused queues are left out."""
        rows = self._run(self.HEADS, starts=as_starts(queues, {}))
        return (rows[0][0] if rows else 0), {row[1]: Head(*row[2:]) for row in rows}

    def open(self, queues: Collection[str]) -> None:
        """Makes the rows that are locked."""
        self._run(self.OPEN, queues=as_json(list(queues)))

    def missing(self, queues: Collection[str]) -> list[str]:
        """Those of some queues whose row is not there."""
        return [name for (name,) in self._run(self.MISSING, queues=as_json(list(queues)))]

    def lock(self, queues: Collection[str], lets_go: bool, with_rates: bool = False) -> Locked:
        """Locks the rows of those of some queues that have one, until the transaction ends.

        Args:
            lets_go: the transaction is this worker's own. Should the worker be stopped before it ends, the server
                ends it.
            with_rates: whether groups whose rate is free again are asked for; each is told once.
        """
        before = [*(self.LET_GO if lets_go else ()), *self.LOCK]
        after = [self.SHARED, *([self.FREE] if with_rates else [])]
        known = as_json(list(queues))
        answers = self._run_all([self._filled(sql) for sql in (*before, *after)], {"names": known, "queues": known})
        rows, free = answers[len(before)], answers[len(before) + 1 :]
        shared = {name: Shared(starts, at, paused is not None) for _, name, starts, at, paused in rows}
        return Locked(rows[0][0] if rows else 0, shared, [(*group,) for some in free for group in some])

    def look(
        self,
        queue: str,
        back: Mapping[str, int],
        aside: Sequence[Waiting],
        until: int,
        most: int,
        *,
        start: Start,
        counts: bool,
        count: Count | None,
        locks: bool,
        with_starts: bool,
    ) -> Looked:
        """The first due jobs from `start` on that are not set aside, and with `counts` what runs.

        Jobs whose cancelled handlers have not ended run. Before the look so many jobs of each group in `back` are
        brought back, and those in `aside` set aside. With `locks` it locks what it gives, and
        leaves out what others hold.
        """
        before = [*([self.BRING_BACK] if back else ()), *([self.SET_ASIDE] if aside else ())]
        window = self.WINDOW_WITH_STARTS if with_starts else self.WINDOW
        window = window.replace("{locked}", self.LOCKED if locks else "")
        read = f"select {self.ENTRIES}, {self.COUNTED}"
        statements = [*before, read, window, *([self.RUNNING] if counts else ()), read]
        parameters = {"queue": queue, "back": as_json(back), "jobs": as_jobs(aside), "until": until, "most": most}
        parameters |= {"start_at": start.at, "start_id": start.id}
        known = count or Count()
        parameters |= {"since": known.since, "known": as_json(list(known.ids)), "tells": count is not None}
        return _looked(self._run_all(statements, parameters)[len(before) :], tells=count is not None)

    def take(self, lease: int, queue: str, jobs: Sequence[Waiting], now: int) -> Rows:
        """Marks jobs as running, but for those that somebody holds or changed; rows as a claim's."""
        return self._run(self.TAKE, lease=lease, queue=queue, jobs=as_jobs(jobs), until=now)

    def close(
        self,
        queue: str,
        aside: Sequence[Waiting],
        starts: str | None,
        groups: Sequence[GroupStarts],
        *,
        asks: Start | None,
    ) -> Head | None:
        """Sets jobs aside until their group has room, and writes the log of the queue's rate and those of groups.

        Args:
            asks: from where on the answer is what is left in the queue; None for no answer.
        """
        statements = [
            *([self.SET_ASIDE] if aside else ()),
            *([self.KEEP] if starts is not None else ()),
            *([self.KEEP_GROUPS] if groups else ()),
            *([self.HEADS] if asks else ()),
        ]
        if not statements:
            return None
        given = {"queue": queue, "starts": as_starts([queue], {queue: asks or BEGINNING}), "log": starts}
        given |= {"jobs": as_jobs(aside), "logs": as_json([asdict(one) for one in groups])}
        answers = self._run_all([self._filled(sql) for sql in statements], given)
        return Head(*answers[-1][0][2:]) if asks and answers[-1] else None

    def bring_back(self, queue: str, groups: Mapping[str, int]) -> Start | None:
        """Makes the first jobs set aside ready again, so many of each group; the first place they came to. It needs no
        lock: what is ready by mistake is set aside again."""
        rows = self._run(self.BRING_BACK, queue=queue, back=as_json(groups))
        # Text in place of a time, which SQLite takes, comes behind all numbers and is no place to begin at.
        return min((Start(at, job) for at, job in rows if not isinstance(at, str)), default=None)

    def left_aside(self, queue: str, ready: int, until: int, latest: int) -> list[Aside]:
        """The groups that have jobs set aside, but for those that wait for their rate until `latest` at most.

        Their ready jobs are counted up to `ready`.
        """
        rows = self._run(self.LEFT, queue=queue, ready=ready, until=until, latest=latest)
        return [Aside(*row) for row in rows]

    def wait(self, queue: str, at: int) -> None:
        """Has nobody look for such jobs before `at`."""
        self._run(self.WAIT, queue=queue, at=at)

    def release(self, queue: str, most: int) -> int:
        """Makes up to `most` jobs set aside ready, of a queue that has no group limit any more; how many."""
        return len(self._run(self.RELEASE, queue=queue, most=most))

    def clear(self, most: int) -> int:
        """Deletes up to `most` logs of groups that count no more; how many it deleted."""
        return len(self._run(self.CLEAR, most=most))

    def _run(self, sql: str, **parameters: Any) -> Rows:
        return self._run_all([self._filled(sql)], parameters)[0]

    def _filled(self, sql: str) -> str:
        return sql.replace("{queues}", self.QUEUES).replace("{starts}", self.STARTS).replace("{logs}", self.LOGS)


def _looked(answers: list[Rows], tells: bool) -> Looked:
    began, rows, *running, ended = answers
    groups = [one for some in running for one in some]
    (ready_before, counted_before), (ready, counted) = began[0], ended[0]
    return Looked(
        waiting=[Waiting(*row) for row in rows],
        entries=ready - ready_before,
        running=Counter({group: number for group, number, _ in groups}),
        counted=counted - counted_before,
        old=[job for *_, old in groups for job in old] if tells else None,
    )
