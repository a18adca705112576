"""The claim of a limited queue on PostgreSQL. Why it is as it is: docs/architecture."""

from __future__ import annotations

from .limits import Limits
from .marking import MARKED
from .postgresql_counts import BY_GROUP


class PostgreSQLLimits(Limits):
    QUEUES = "json_array_elements_text(%(queues)s::json) known(queue)"
    STARTS = "json_to_recordset(%(starts)s::json) known(queue text, at bigint, id bigint)"
    # It is put back between transactions only, so that a difference within one is what was read in between: however
    # slow the machine, dead entries show in it.
    ENTRIES = "pg_stat_get_xact_tuples_returned('tinystore_job_ready'::regclass)"
    COUNTED = "pg_stat_get_xact_tuples_returned('tinystore_job_running'::regclass)"
    LOGS = 'json_to_recordset(%(logs)s::json) kept("group" text, starts text, free_at bigint, until bigint)'

    # A transaction of somebody's own that called `run_due` may hold the row for as long as it likes.
    HASTE = "set local lock_timeout = '1s'"
    LET_GO = ("set local idle_in_transaction_session_timeout = '5s'", HASTE)

    # By name, so that two workers never wait for each other; a statement of its own, so that what is counted next
    # is counted after the wait.
    LOCK = (
        """select name from tinystore_django_queue where name in (select json_array_elements_text(%(names)s::json))
        order by name for update""",
    )

    LOCKED = "for update skip locked"

    RUNNING = BY_GROUP

    BRING_BACK = """
        update tinystore_django_job set state = 0 where id = any(array(
          select head.id from json_each_text(%(back)s::json) back("group", most)
          cross join lateral (
            select id from tinystore_django_job where queue = %(queue)s and "group" = back."group" and state = 4
            order by at, id limit back.most::int for update skip locked) head))
        returning at, id
    """

    # The jobs as they were seen: a user's `set` may have moved one since.
    SEEN = """
        select found.id from json_to_recordset(%(jobs)s::json) seen(id bigint, at bigint, "group" text)
        cross join lateral (
          select id from tinystore_django_job job
          where job.id = seen.id and job.at = seen.at and job."group" is not distinct from seen."group"
            and job.queue = %(queue)s and job.state = 0 for update skip locked) found
    """

    TAKE = f"""
        update tinystore_django_job
        set {MARKED}, started_at = %(until)s
        where id = any(array({SEEN}))
        returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at
    """

    SET_ASIDE = f"update tinystore_django_job set state = 4 where id = any(array({SEEN}))"

    CLEAR = f"""
        delete from tinystore_django_group where id = any(array({Limits.CLEARED} for update skip locked)) returning id
    """

    RELEASE = """
        update tinystore_django_job set state = 0 where id = any(array(
          select id from tinystore_django_job where queue = %(queue)s and state = 4
          order by "group", at, id limit %(most)s for update skip locked)) returning id
    """
