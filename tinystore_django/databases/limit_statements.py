"""The statements of limited queues, but for those that each database says in its own way: there in `…_limits`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .statements import NUMBERS


class LimitStatements:
    """What `Limits` asks, and in which the database's own parts are put."""

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

    # Text in place of a time, which SQLite takes, comes behind all numbers and is not looked at.
    # One row a queue that is not paused: an idle worker's only question about its limited queues. In an order, here and
    # below, even where there is only to say whether there are any: they are then found by their index, and not by a
    # scan of the table, which an `exists` that is likely to be true invites.
    HEADS = f"""
        select {{now}}, known.queue,
          (select at from tinystore_django_job job where job.queue = known.queue and state = 0
            and (job.at, job.id) >= (known.at, known.id) and job.at <= {NUMBERS}
            order by job.at, job.id limit 1),
          (select min(free_at) from tinystore_django_group where queue = known.queue and free_at is not null
            and free_at <= {NUMBERS}),
          case when (select id from tinystore_django_job where queue = known.queue and state = 4
              order by "group", at, id limit 1) is not null
            then coalesce((
              select refill_at from tinystore_django_queue where name = known.queue and refill_at <= {NUMBERS}), 0) end
        from {{starts}}
        where not exists (
          select 1 from tinystore_django_queue where name = known.queue and paused_at is not null)
    """

    OPEN = """
        insert into tinystore_django_queue (name) select known.queue from {queues} where true
        on conflict (name) do nothing
    """

    MISSING = """
        select known.queue from {queues}
        where not exists (select 1 from tinystore_django_queue where name = known.queue)
    """

    SHARED = f"""
        select {{instant}}, name, starts, case when refill_at <= {NUMBERS} then refill_at else 0 end, paused_at
        from {{queues}} join tinystore_django_queue on name = known.queue
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
            and "group" is not null order by "group" limit 1)
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
