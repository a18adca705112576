"""The claim of a limited queue on SQLite, under the lock of its only writer."""

from __future__ import annotations

from .limits import Limits
from .marking import MARKED


class SQLiteLimits(Limits):
    QUEUES = "(select value as queue from json_each(%(queues)s)) known"
    STARTS = """(
        select json_extract(value, '$.queue') as queue, json_extract(value, '$.at') as at,
          json_extract(value, '$.id') as id from json_each(%(starts)s)) known"""
    LOGS = """(
        select json_extract(value, '$.group') as "group", json_extract(value, '$.starts') as starts,
          json_extract(value, '$.free_at') as free_at, json_extract(value, '$.until') as until
        from json_each(%(logs)s)) kept"""
    LOCK = ()  # whoever writes has it

    # From head to head: a limit for each group is more than SQLite can say.
    BRING_BACK = """
        with recursive back("group", most, job) as (
          select given.key, given.value, (
            select id from tinystore_django_job
            where queue = %(queue)s and "group" = given.key and state = 4 order by at, id limit 1)
          from json_each(%(back)s) given
          union all
          select back."group", most - 1, (
            select id from tinystore_django_job following
            where queue = %(queue)s and following."group" = back."group" and state = 4
              and (at, id) > (select at, id from tinystore_django_job where id = back.job)
            order by at, id limit 1)
          from back where most > 1 and job is not null)
        update tinystore_django_job set state = 0 where id in (select job from back) returning at, id
    """

    TAKE = f"""
        update tinystore_django_job
        set {MARKED}, started_at = %(until)s
        where id in (select json_extract(value, '$.id') from json_each(%(jobs)s))
        returning id, run, queue, key, value, due, attempt, "group", repeat, started_at, at
    """

    SET_ASIDE = """
        update tinystore_django_job set state = 4
        where id in (select json_extract(value, '$.id') from json_each(%(jobs)s))
    """

    CLEAR = f"delete from tinystore_django_group where id in ({Limits.CLEARED}) returning id"

    RELEASE = """
        update tinystore_django_job set state = 0 where id in (
          select id from tinystore_django_job where queue = %(queue)s and state = 4
          order by "group", at, id limit %(most)s) returning id
    """
