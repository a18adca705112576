"""The statement that adds one job. Why it is as it is: docs/architecture."""

from __future__ import annotations

from functools import cache
from typing import Any

from .rows import NewJob

INSERT = "insert into tinystore_django_job ({columns}) values ({values}) {unless_taken}"

INSERT_WHERE = "insert into tinystore_django_job ({columns}) select {values} where {room} {unless_taken}"

# The ORM's ignore_conflicts does not say whether the row was added, and takes any conflict for one of the id: where the
# primary keys' sequence is behind the rows, as after a restore of data alone, nothing would be added, and nobody told.
UNLESS_TAKEN = "on conflict (queue, key) where key is not null and not released do nothing"
# SQLite wants the words of the index's condition, and Django's versions write them differently. Its new keys are behind
# no row: there is no conflict but the id's.
UNLESS_TAKEN_ON_SQLITE = "on conflict do nothing"

# For a queue whose groups are limited: behind so many of its group a job is set aside at once, or the workers would
# have to, all those of a group's backlog, before they came to anybody else's.
STATE = """case
          when (select id from tinystore_django_job
            where queue = %(queue)s and "group" = %(group)s and state = 4 and at <= {at}
            order by at, id limit 1) is not null then 4
          when (select count(*) from (select 1 from tinystore_django_job
            where queue = %(queue)s and "group" = %(group)s and state = 0 and at <= {at}
            order by at, id limit %(heads)s) ready) >= %(heads)s then 4
          else 0 end"""

# One state at a time and in its index's order, so that it is walked; the two together have none.
ROOM = """(select count(*) from (select 1 from tinystore_django_job
            where queue = %(queue)s and state = 0 order by at, id limit %(max_waiting)s) ready)
          + (select count(*) from (select 1 from tinystore_django_job
            where queue = %(queue)s and state = 4 order by "group", at, id limit %(max_waiting)s) aside)
          < %(max_waiting)s"""


def insert(new: NewJob, unless_taken: str = "") -> tuple[str, dict[str, Any]]:
    """The statement, in which {now} is still to be put, and its parameters; `unless_taken` is what it says of an id
    that is taken."""
    given = {name: value for name in SOME if (value := getattr(new, name)) is not None}
    return _statement(tuple(given), new.delay > 0, unless_taken), {
        "queue": new.queue,
        "value": new.value,
        "delay": new.delay,
        **given,
    }


# What few jobs have. Of the rest the statement says nothing: each word costs the server time, at every add.
SOME = ("at", "key", "group", "repeat", "heads", "max_waiting")


@cache
def _statement(given: tuple[str, ...], delayed: bool, unless_taken: str) -> str:
    at = "%(at)s" if "at" in given else "{now} + %(delay)s" if delayed else "{now}"
    row = {"queue": "%(queue)s", "value": "%(value)s", "at": at, "due": at}
    row |= {name: f"%({name})s" for name in ("key", "group", "repeat") if name in given}
    if "heads" in given and "group" in given:
        row["state"] = STATE.replace("{at}", at)
    room = ROOM if "max_waiting" in given else "true"
    form = INSERT_WHERE if room != "true" or "state" in row else INSERT
    columns = ", ".join(f'"{name}"' for name in row)
    conflict = unless_taken if "key" in given else ""
    return form.format(columns=columns, values=", ".join(row.values()), room=room, unless_taken=conflict)
