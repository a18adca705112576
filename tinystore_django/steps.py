"""The steps of a run, each run once in its job's life, and its progress."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db import transaction

from .control import Control
from .databases import database
from .errors import CorruptError, InvalidError, LimitError, quoted
from .lifecycle import stepping
from .values import Codec, check_text, codec_of, json_text

LONGEST_NAME = 256  # bytes
LONGEST_ANSWER = 1024 * 1024
LONGEST_PROGRESS = 4 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run."""

    control: Control
    name: str
    codec: Codec[Any]
    atomic: bool

    def run(self, fn: Callable[[], Any]) -> Any:
        """The kept answer, or fn's, kept now."""
        with self._alone():
            kept = self._kept()
            if kept is not None:
                return self._read(kept)
            with self._together() if self.atomic else nullcontext():
                text = self._keep(fn())
            return self._remember(text)

    async def arun(self, fn: Callable[[], Any]) -> Any:
        """The same in an async handler, whose database calls go through Django's thread for sync code."""
        if self.atomic:
            return await sync_to_async(self.run)(fn)
        with self._alone():
            kept = await sync_to_async(self._kept)()
            if kept is not None:
                return self._read(kept)
            answer = await _called(fn)
            return await sync_to_async(self._keep_and_remember)(answer)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        mine = object()
        if self.control.doing.setdefault(self.name, mine) is not mine:
            raise InvalidError(
                f"step {quoted(self.name)} is at work already: give each step of the job a name of its own"
            )
        try:
            yield
        finally:
            del self.control.doing[self.name]

    @contextmanager
    def _together(self) -> Iterator[None]:
        before, self.control.in_step = self.control.in_step, True
        try:
            with transaction.atomic(using=self.control.alias):
                yield
        finally:
            self.control.in_step = before

    def _kept(self) -> str | None:
        control = self.control
        control.check_going()
        if database(control.alias).in_transaction() and control.kept_steps:
            return self._ask().get(self.name)  # not to be remembered: the handler may yet roll it back
        if control.kept is None:
            control.kept = self._ask()
        return control.kept.get(self.name)

    def _ask(self) -> dict[str, str]:
        held = self.control.held
        # A job's first run finds none before it kept one, and need not ask.
        asks = held.run != 1 or self.control.kept_steps
        return stepping.kept(self.control.alias, held.id) if asks else {}

    def _keep(self, answer: Any) -> str:
        text = self._text(answer)
        # First this, then the look whether its handler has ended: whoever settles the run looks the other way round.
        self.control.kept_steps = True
        self.control.check_not_over()
        stepping.keep(self.control.alias, self.control.held.fence, self.name, text)
        return text

    def _text(self, answer: Any) -> str:
        """The answer as it is kept. Raises unless it can be, and reads back."""
        if inspect.isawaitable(answer):
            self._refuse_awaitable(answer)
        what = f"the answer of step {quoted(self.name)}"
        text = json_text(answer, what, LONGEST_ANSWER)
        try:
            self.codec.read(text)
        except CorruptError as error:
            said = f"{what} does not read as {quoted(self.codec.of)}"
            raise InvalidError(f"{said}: {error}", without_values=f"{said}: {error.without_values}") from error
        return text

    def _refuse_awaitable(self, answer: object) -> None:
        if inspect.iscoroutine(answer):
            answer.close()  # or Python would warn that nobody awaited it
        if self.control.is_async:
            raise InvalidError(
                f"step {quoted(self.name)}: Django's transactions are not async, atomic=True needs a sync fn"
            )
        raise InvalidError(f"step {quoted(self.name)}: nobody awaits its fn in a sync handler: give a sync one")

    def _keep_and_remember(self, answer: Any) -> Any:
        return self._remember(self._keep(answer))

    def _remember(self, text: str) -> Any:
        if database(self.control.alias).in_transaction():
            self.control.kept = None  # the next step outside the transaction asks again
        elif self.control.kept is not None:
            self.control.kept[self.name] = text
        return self._read(text)

    def _read(self, text: str) -> Any:
        try:
            return self.codec.read(text)
        except CorruptError as error:
            what = f"the kept answer of step {quoted(self.name)}"
            said = f"{what} no longer reads as {quoted(self.codec.of)}"
            raise CorruptError(f"{said}: {error}", without_values=f"{said}: {error.without_values}") from error


async def _called(fn: Callable[[], Any]) -> Any:
    """What fn gives, sync or async, or a sync one that gives a coroutine, as a lambda around a call does."""
    is_async = iscoroutinefunction(fn) or iscoroutinefunction(type(fn).__call__)
    answer = fn() if is_async else await sync_to_async(fn)()
    return await answer if inspect.isawaitable(answer) else answer


def step(control: Control, name: str, of: Any, atomic: bool) -> Step:
    """A step, once it is sure that it can be kept. Raises InvalidError for a name or a type that cannot be."""
    return Step(control, check_text(name, "step name", LONGEST_NAME), codec_of(of), atomic)


def check_callable(fn: object) -> None:
    """Raises InvalidError unless a step's fn can be called."""
    if not callable(fn):
        raise InvalidError(f"step function {quoted(fn)}: give a function without arguments, such as a lambda")


def report(control: Control, progress: Any) -> None:
    """Leaves a run's progress for its worker to write: a handler inside a transaction shows it all the same."""
    control.check_going()
    try:
        text = json_text(progress, "progress", LONGEST_PROGRESS)
    except LimitError as error:
        raise InvalidError(str(error)) from error
    control.progress = text
    control.on_progress()
