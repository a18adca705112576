"""The steps of a run, each run once in its job's life, and its progress."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction

from .control import Control
from .databases import database
from .errors import CorruptError, InvalidError, LimitError, quoted
from .lifecycle import stepping
from .values import check_text, json_text, read_json

LONGEST_NAME = 256  # bytes
LONGEST_ANSWER = 1024 * 1024
LONGEST_PROGRESS = 4 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run."""

    control: Control
    name: str
    of: Any
    atomic: bool

    def run(self, fn: Callable[[], Any]) -> Any:
        """The kept answer, or fn's, kept now."""
        kept = self._kept()
        if kept is not None:
            return read_json(kept, self.of)
        with transaction.atomic(using=self.control.alias) if self.atomic else nullcontext():
            text = self._keep(fn())
        return self._remember(text)

    async def arun(self, fn: Callable[[], Any]) -> Any:
        """The same in an async handler, whose database calls go through Django's thread for sync code."""
        if self.atomic:
            if inspect.iscoroutinefunction(fn):
                raise InvalidError(
                    f"step {self.name!r}: Django's transactions are not async, atomic=True needs a sync fn"
                )
            return await sync_to_async(self.run)(fn)
        kept = await sync_to_async(self._kept)()
        if kept is not None:
            return read_json(kept, self.of)
        answer = await fn() if inspect.iscoroutinefunction(fn) else await sync_to_async(fn)()
        return await sync_to_async(self._keep_and_remember)(answer)

    def _kept(self) -> str | None:
        control = self.control
        control.check_going()
        if control.kept is None:
            # A job's first run finds none before it kept one, and need not ask.
            asks = control.held.run > 1 or control.kept_steps
            control.kept = stepping.kept(control.alias, control.held.id) if asks else {}
        return control.kept.get(self.name)

    def _keep(self, answer: Any) -> str:
        what = f"the answer of step {self.name!r}"
        text = json_text(answer, what, LONGEST_ANSWER)
        try:
            read_json(text, self.of)
        except CorruptError as error:
            raise InvalidError(f"{what} does not read as {self.of!r}: {error}") from error
        stepping.keep(self.control.alias, self.control.held.fence, self.name, text)
        self.control.kept_steps = True
        return text

    def _keep_and_remember(self, answer: Any) -> Any:
        return self._remember(self._keep(answer))

    def _remember(self, text: str) -> Any:
        if database(self.control.alias).in_transaction():
            self.control.kept = None  # the handler may yet roll it back: the next step asks again
        elif self.control.kept is not None:
            self.control.kept[self.name] = text
        return read_json(text, self.of)


def check_callable(fn: object) -> None:
    """Raises InvalidError unless a step's fn can be called."""
    if not callable(fn):
        raise InvalidError(f"step function {quoted(fn)}: give a function without arguments, such as a lambda")


def check_name(name: str) -> str:
    """Returns a step's name. Raises InvalidError unless it is a text of 1 to 256 bytes that can be kept."""
    return check_text(name, "step name", LONGEST_NAME)


def report(control: Control, progress: Any) -> None:
    """Leaves a run's progress for its worker to write: a handler inside a transaction shows it all the same."""
    control.check_going()
    try:
        text = json_text(progress, "progress", LONGEST_PROGRESS)
    except LimitError as error:
        raise InvalidError(str(error)) from error
    control.progress = text
    control.on_progress()
