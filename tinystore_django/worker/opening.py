"""What is made ready before anything runs: the schedules' rows and the limited queues'."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..lifecycle import asides, flaws, scheduling, strangers, unread
from ..log import logger
from ..registry import Declaration
from ..values import first_line

OF_QUEUE = "{} jobs of a queue of that name are not run: give the schedule another name, or cancel them in the admin"
OF_SCHEDULE = "the row of a schedule of that name is not run: give the queue another name, or cancel it in the admin"


class Opening:
    """Makes ready what some declarations of one database need. What cannot be is said, and holds up nothing else."""

    def __init__(self, declarations: Sequence[Declaration]) -> None:
        self._alias = declarations[0].alias
        self._unopened = {one.name: one.repeat for one in declarations if one.repeat}
        self._limits = {one.name: one.options for one in declarations}
        self._schedules = list(self._unopened)
        self._queues = {name: options for name, options in self._limits.items() if name not in self._unopened}

    def open(self) -> None:
        """Makes all ready, as far as it can be."""
        for name, error in self._open().items():
            logger.error(
                "schedule %s cannot be opened, and does not run: %s; it is tried again", name, first_line(str(error))
            )
        for name in strangers.of_schedules(self._alias, list(self._queues)):
            _say(f"queue {name}", OF_SCHEDULE)
        self._tend(_say)

    def open_or_fail(self) -> None:
        """Makes all ready.

        Raises:
            IntegrityError, ConflictError: a schedule cannot be opened.
        """
        for error in self._open().values():
            raise error
        self._tend(flaws.tell)  # once, and not at each call

    def again(self) -> bool:
        """Opens the schedules that could not be opened before, and takes up the jobs whose repeat reads again; whether
        there were any."""
        left = len(self._unopened)
        opened = bool(left and len(self._open()) < left)
        return opened | unread.take_up(self._alias, self._limits) | strangers.bring_back(self._alias, self._queues)

    def _tend(self, say: Callable[[str, str], object]) -> None:
        for name, jobs in strangers.of_queues(self._alias, self._schedules).items():
            say(f"schedule {name}", OF_QUEUE.format(jobs))
        strangers.bring_back(self._alias, self._queues)
        unread.take_up(self._alias, self._limits)
        asides.tend(self._alias, self._queues)

    def _open(self) -> dict[str, Exception]:
        errors = scheduling.open_all(self._alias, self._unopened)
        self._unopened = {name: repeat for name, repeat in self._unopened.items() if name in errors}
        return errors


def _say(who: str, what: str) -> None:
    logger.warning("%s: %s", who, what)
