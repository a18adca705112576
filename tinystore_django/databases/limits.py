"""What the claim of a limited queue asks of its database, under the lock of the queue's row."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from .given import as_jobs, as_json, as_starts
from .rows import BEGINNING, Aside, Count, GroupStarts, Head, Locked, Looked, Shared, Start, Waiting

Rows = list[tuple[Any, ...]]
RunAll = Callable[[Sequence[str], dict[str, Any]], list[Rows]]


class Limits(ABC):
    """The statements of limited queues on one database. Those that count or choose need the lock.

    What belongs together goes to the server in one trip: while it lasts, all other workers wait.
    """

    # The elements of the parameters `queues`, `starts` (queues, and where to begin) and `logs` (GroupStarts), all JSON.
    QUEUES: ClassVar[str]
    STARTS: ClassVar[str]
    LOGS: ClassVar[str]
    # How many entries of ready and of running jobs this session has read, if that can be told.
    ENTRIES: ClassVar[str] = "0"
    COUNTED: ClassVar[str] = "0"
    LOCK: ClassVar[Sequence[str]]
    LET_GO: ClassVar[Sequence[str]] = ()
    BRING_BACK: ClassVar[str]
    TAKE: ClassVar[str]
    SET_ASIDE: ClassVar[str]
    LOCKED: ClassVar[str] = ""
    RELEASE: ClassVar[str]

    # One row a queue that is not paused: an idle worker's only question about its limited queues. In an order, here and
    # below, even where there is only to say whether there are any: they are then found by their index, and not by a
    # scan of the table, which an `exists` that is likely to be true invites.
    HEADS = """
        select {now}, known.queue,
          (select at from tinystore_django_job job where job.queue = known.queue and state = 0
            and (job.at, job.id) >= (known.at, known.id) order by job.at, job.id limit 1),
          (select min(free_at) from tinystore_django_group where queue = known.queue and free_at is not null),
          case when (select id from tinystore_django_job where queue = known.queue and state = 4
              order by "group", at, id limit 1) is not null
            then coalesce((select refill_at from tinystore_django_queue where name = known.queue), 0) end
        from {starts}
        where not exists (
          select 1 from tinystore_django_queue where name = known.queue and paused_at is not null)
    """

    OPEN = """
        insert into tinystore_django_queue (name) select known.queue from {queues} where true on conflict do nothing
    """

    SHARED = """
        select {instant}, name, starts, refill_at, paused_at
        from {queues} join tinystore_django_queue on name = known.queue
    """

    FREE = """
        update tinystore_django_group set free_at = null
        where queue in (select known.queue from {queues}) and free_at <= {instant} returning queue, "group", starts
    """

    RUNNING = """
        select "group", count(*), null from tinystore_django_job
        where queue = %(queue)s and state = 1 group by "group"
    """

    WINDOW = """
        select id, at, "group" from tinystore_django_job
        where queue = %(queue)s and state = 0 and at <= %(until)s and (at, id) >= (%(start_at)s, %(start_id)s)
        order by at, id limit %(most)s {locked}
    """

    # The log of a group once: it may be long, and its jobs many.
    WINDOW_WITH_STARTS = f"""
        select job.id, job.at, job."group",
          case when row_number() over (partition by job."group" order by job.at, job.id) = 1 then starts end
        from ({WINDOW}) job
        left join tinystore_django_group kept on kept.queue = %(queue)s and kept."group" = job."group"
        order by job.at, job.id
    """

    KEEP = "update tinystore_django_queue set starts = %(log)s where name = %(queue)s"

    # The time to look again is for groups that left somebody aside: no worker need wake for the others.
    KEEP_GROUPS = """
        insert into tinystore_django_group (queue, "group", starts, free_at, until)
        select %(queue)s, kept."group", kept.starts, case when (
            select id from tinystore_django_job where queue = %(queue)s and "group" = kept."group" and state = 4
            order by at, id limit 1) is not null
          then kept.free_at end, kept.until
        from {logs} where true
        on conflict (queue, "group") do update
        set starts = excluded.starts, free_at = excluded.free_at, until = excluded.until
    """

    WAIT = "update tinystore_django_queue set refill_at = %(at)s where name = %(queue)s"

    # An index is walked from group to group. A group that waits for its rate is brought back when that is free; one
    # that would wait for longer than the rate's span does so by another deploy's rate, or a clock that was set back.
    LEFT = """
        with recursive aside("group") as (
          select (select "group" from tinystore_django_job where queue = %(queue)s and state = 4
            order by "group" limit 1)
          union all
          select (select "group" from tinystore_django_job job
            where queue = %(queue)s and state = 4 and job."group" > aside."group" order by "group" limit 1)
          from aside where aside."group" is not null),
        running("group", count) as (
          select "group", count(*) from tinystore_django_job where queue = %(queue)s and state = 1 group by "group")
        select aside."group", coalesce(running.count, 0),
          (select count(*) from (select 1 from tinystore_django_job job
            where queue = %(queue)s and job."group" = aside."group" and state = 0 and at <= (
              select at from tinystore_django_job head
              where queue = %(queue)s and head."group" = aside."group" and state = 4 order by at, id limit 1)
            order by at, id limit %(ready)s) ready)
        from aside left join running on running."group" = aside."group"
        where aside."group" is not null and not exists (
          select 1 from tinystore_django_group kept
          where kept.queue = %(queue)s and kept."group" = aside."group"
            and free_at > %(until)s and free_at <= %(latest)s)
    """

    # A minute later, so that the groups whose time to look again has just come are looked at first.
    CLEAR: ClassVar[str]
    CLEARED = """
        select id from tinystore_django_group where until <= {now} - 60000000 order by until limit %(most)s
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
        began, rows, *running, ended = self._run_all(statements, parameters)[len(before) :]
        groups = running[0] if counts else []
        return Looked(
            [Waiting(*row) for row in rows],
            ended[0][0] - began[0][0],
            Counter({group: number for group, number, _ in groups}),
            ended[0][1] - began[0][1],
            None if count is None else [job for *_, old in groups for job in old],
        )

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

    def bring_back(self, queue: str, groups: Mapping[str, int]) -> None:
        """Makes the first jobs set aside ready again, so many of each group. It needs no lock: what is ready by
        mistake is set aside again."""
        self._run(self.BRING_BACK, queue=queue, back=as_json(groups))

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
