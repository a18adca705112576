"""The jobs of one state of many queues, in the order of that state's index: counted, and read a part at a time.

Each queue is looked at along its own stretch of the index, and no further than what is asked for. The statements take
the queues' names as one parameter, so that they are the same for one queue and for thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import database
from .known import KNOWN


@dataclass(frozen=True, slots=True)
class Lane:
    """The jobs of one state; `named` is what the index of their ids says, beside the id."""

    state: str
    part: str  # of the indexes that `names.names` walks
    rows: str
    columns: tuple[str, ...]  # that it is in the order of, and after them the primary key
    latest_first: bool = False
    named: str = "{taken}"


DUE, COMING, KEPT = "at <= {now}", "at > {now}", "kept_until > {now}"
# Each is a range of one index and says nothing that its index does not hold: the rows themselves are not looked at.
# The index of ids holds those that are taken. Those of done and cancelled jobs may be free: done ones have an index of
# their own, and few run.
LANES = (
    Lane("running", "running", "state = 1", ("started_at",), named=""),
    Lane("failed", "ended", f"state = 2 and {KEPT}", ("ended_at",), latest_first=True),
    Lane("waiting", "ready", f"state = 0 and {DUE}", ("at",)),
    Lane("waiting", "aside", f"state = 4 and {DUE}", ('"group"', "at")),
    Lane("scheduled", "ready", f"state = 0 and {COMING}", ("at",)),
    Lane("scheduled", "aside", f"state = 4 and {COMING}", ('"group"', "at")),
    Lane("done", "ended", f"state = 3 and {KEPT}", ("ended_at",), latest_first=True, named=""),
)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What else is asked of a lane's jobs: a group, and the ids from `first` on, before `end`, in their order."""

    group: str | None = None
    first: str | None = None
    end: str | None = None

    @property
    def by_id(self) -> bool:
        """Whether the jobs are in the order of their ids."""
        return self.first is not None


# Jobs of each queue, beside its name. SQLite has no lateral, but a function of a table may be given what stands to its
# left; each value that is asked for comes from the index alone.
EACH = {
    "postgresql": "select known.queue, lane.* from {known} cross join lateral ({walk}) lane",
    "sqlite": """select known.queue, {values} from {known} cross join json_each((
        select json_group_array(json_array({columns})) from ({walk}))) lane""",
}
WALK = """select {columns} from tinystore_django_job where queue = known.queue and {rows}
    order by {order} limit %(size)s offset %(skip)s"""
COUNT = "select count(*) from (select 1 from ({each}) every limit %(size)s) found"

BY_QUEUE = "select queue, count(*) from (select queue from ({each}) every limit %(in_all)s) found group by queue"


def count(alias: str, lane: Lane, narrowed: Narrowed, queues: Sequence[str], most: int) -> int:
    """How many jobs a lane has, counted up to `most`."""
    sql = COUNT.format(each=_each(alias, lane, narrowed))
    return int(database(alias).run(sql, _given(alias, narrowed, queues, 0, most))[0][0])


def by_queue(
    alias: str, lane: Lane, narrowed: Narrowed, queues: Sequence[str], most: int, in_all: int
) -> dict[str, int]:
    """How many jobs of each queue a lane has, each counted up to `most`, and all together up to `in_all`."""
    sql = BY_QUEUE.format(each=_each(alias, lane, narrowed))
    return dict(database(alias).run(sql, {**_given(alias, narrowed, queues, 0, most), "in_all": in_all}))


def part(alias: str, lane: Lane, narrowed: Narrowed, queues: Sequence[str], start: int, stop: int) -> list[int]:
    """The primary keys of a lane's jobs, from the one at `start` on, before the one at `stop`.

    All queues are asked for a few jobs at first, and for more only those whose jobs are all among the first ones.
    """
    down = _goes_down(lane, narrowed)
    sql, nulls = _each(alias, lane, narrowed), NULLS[database(alias).vendor]
    first: list[Place] = []
    skip, asked = 0, list(queues)
    while asked and skip < stop:
        # Twice as many as there would be of each: where all go alike, nobody is asked again.
        size = min(stop - skip, 2 * stop // len(asked) + 1)
        rows = database(alias).run(sql, _given(alias, narrowed, asked, skip, size))
        found = sorted(((_place(row, nulls), row[0]) for row in rows), reverse=down)
        first = sorted([*first, *(place for place, _ in found)], reverse=down)[:stop]
        asked = _unfinished(found, size, first[-1] if len(first) == stop else None, down)
        skip += size
    return [place[-1] for place in first[start:]]


Place = tuple[Any, ...]  # what a lane is in the order of, the primary key last
# Of one column the databases sort what is not there, numbers and texts apart.
NULLS, NUMBERS, TEXTS = {"sqlite": 0, "postgresql": 3}, 1, 2


def _place(row: Sequence[Any], nulls: int) -> Place:
    """Its place as the database has it, so that values of all kinds compare: a row that was written by hand may lack
    its time, and on SQLite have a text there."""
    return (*((nulls, 0) if one is None else (_rank(one), one) for one in row[1:-1]), row[-1])


def _rank(value: object) -> int:
    return TEXTS if isinstance(value, str) else NUMBERS


def _unfinished(found: Sequence[tuple[Place, str]], size: int, end: Place | None, down: bool) -> list[str]:
    """The queues that gave as many jobs as they were asked for, the last of them before the end of what is wanted."""
    given = Counter(queue for _, queue in found)
    last = {queue: place for place, queue in found}
    return [
        queue
        for queue, place in last.items()
        if given[queue] == size and (end is None or (place > end if down else place < end))
    ]


def _each(alias: str, lane: Lane, narrowed: Narrowed) -> str:
    vendor = database(alias).vendor
    columns = _columns(lane, narrowed)
    down = " desc" if _goes_down(lane, narrowed) else ""
    order = ", ".join(f"{name}{down}" for name in columns)
    walk = WALK.format(columns=", ".join(columns), rows=_rows(lane, narrowed), order=order)
    values = ", ".join(f"json_extract(lane.value, '$[{place}]') as {name}" for place, name in enumerate(columns))
    return EACH[vendor].format(known=KNOWN[vendor], walk=walk, values=values, columns=", ".join(columns))


def _columns(lane: Lane, narrowed: Narrowed) -> tuple[str, ...]:
    return ("key", "id") if narrowed.by_id else (*lane.columns, "id")


def _goes_down(lane: Lane, narrowed: Narrowed) -> bool:
    return lane.latest_first and not narrowed.by_id


def _rows(lane: Lane, narrowed: Narrowed) -> str:
    asked = {
        lane.rows: True,
        lane.named: narrowed.by_id,
        '"group" = %(group)s': narrowed.group is not None,
        "key >= %(first)s": narrowed.by_id,
        "key < %(end)s": narrowed.by_id and narrowed.end is not None,
    }
    return " and ".join(condition for condition, holds in asked.items() if condition and holds)


def _given(alias: str, narrowed: Narrowed, queues: Sequence[str], skip: int, size: int) -> dict[str, object]:
    named = {"group": narrowed.group, "first": narrowed.first, "end": narrowed.end}
    return {**named, "queues": database(alias).array(queues), "skip": skip, "size": size}
