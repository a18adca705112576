"""What is made ready before anything runs: the schedules' rows and the limited queues'."""

from __future__ import annotations

from collections.abc import Sequence

from ..lifecycle import asides, scheduling, unread
from ..log import logger
from ..registry import Declaration
from ..values import first_line


class Opening:
    """Makes ready what some declarations of one database need. What cannot be is said, and holds up nothing else."""

    def __init__(self, declarations: Sequence[Declaration]) -> None:
        self._alias = declarations[0].alias
        self._unopened = {one.name: one.repeat for one in declarations if one.repeat}
        self._limits = {one.name: one.options for one in declarations}

    def open(self) -> None:
        """Makes all ready, as far as it can be."""
        for name, error in self._open().items():
            logger.error(
                "schedule %s cannot be opened, and does not run: %s; it is tried again", name, first_line(str(error))
            )
        unread.take_up(self._alias, self._limits)
        asides.tend(self._alias, self._limits)

    def open_or_fail(self) -> None:
        """Makes all ready.

        Raises:
            IntegrityError, ConflictError: a schedule cannot be opened.
        """
        for error in self._open().values():
            raise error
        unread.take_up(self._alias, self._limits)
        asides.tend(self._alias, self._limits)

    def again(self) -> bool:
        """Opens the schedules that could not be opened before, and takes up the jobs whose repeat reads again; whether
        there were any."""
        left = len(self._unopened)
        return unread.take_up(self._alias, self._limits) | bool(left and len(self._open()) < left)

    def _open(self) -> dict[str, Exception]:
        errors = scheduling.open_all(self._alias, self._unopened)
        self._unopened = {name: repeat for name, repeat in self._unopened.items() if name in errors}
        return errors
