"""The places of jobs in a queue's line: one statement for all that are asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from .rows import Line


class Lines(ABC):
    """The part of a database that counts the jobs ahead."""

    # The places of some jobs among those in line, and the last place that is counted. It walks the index up to the
    # last of them, in two ranges: as one condition, all jobs of the same time would be looked at.
    PLACES = """
        select id, at, place from (
          select id, at, row_number() over (order by at, id) - 1 as place from (
            select id, at from (select id, at from tinystore_django_job
              where queue = %(queue)s and {line} and at <= {now} and at < %(at)s
              order by at, id limit %(most)s) earlier
            union all
            select id, at from (select id, at from tinystore_django_job
              where queue = %(queue)s and {line} and at <= {now} and at = %(at)s and id <= %(id)s
              order by at, id limit %(most)s) tied) line) placed
        where id {among} or place = %(most)s - 1
    """
    READY_LINE: ClassVar[str] = "state = 0"
    ASIDE_LINE: ClassVar[str] = 'state = 4 and "group" = %(group)s'
    AMONG: ClassVar[str]

    @abstractmethod
    def run(self, sql: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Runs one statement, and gives its rows."""

    def places(self, line: Line, waiting: Sequence[tuple[int, int]], most: int) -> dict[int, int]:
        """The places in a line, from 0 to `most`, of waiting jobs, each given as its time and primary key. One that
        has left the line is not in the answer."""
        at, last = max(waiting)
        sql = self.PLACES.replace("{line}", self.READY_LINE if line.group is None else self.ASIDE_LINE)
        about = {"queue": line.queue, "group": line.group, "at": at, "id": last, "most": most}
        rows = self.run(sql.replace("{among}", self.AMONG), {**about, "ids": self.array([one for _, one in waiting])})
        # The two ranges together may hold more places than are counted.
        places = {job: min(place, most) for job, _, place in rows}
        end = next(((row_at, job) for job, row_at, place in rows if place == most - 1), None)
        beyond = {job: most for at, job in waiting if end is not None and (at, job) > end}
        return places | beyond

    @abstractmethod
    def array(self, numbers: Sequence[int]) -> Any:
        """Numbers as the one parameter that `AMONG` compares with."""
