"""What comes out of a handler, as how its run ended."""

from __future__ import annotations

import asyncio
import inspect

from ..control import Control, Outcome
from ..errors import CorruptError, RunStopped
from ..lifecycle.aftermath import Ending
from ..values import class_name, first_line, plain
from ..withholding import UNREAD, error_text, traceback_text

DONE = Ending("done")
HOW_MADE = {"retry": "run.retry()", "snoozed": 'run.snooze("5m")', "failed": 'run.fail("…")'}


def answered(answer: object, run: Control) -> Ending:
    """What a handler's return value says."""
    if answer is None and not run.answers:  # as nearly always
        return DONE
    if isinstance(answer, Outcome) and answer.made_by is not run:
        return _refused("its handler returned the answer of another run")
    if any(made is not answer for made in run.answers):
        return _refused(f"its handler made an answer and did not return it: {_advice(answer, run)}")
    if isinstance(answer, Outcome):
        return answer.ending
    if inspect.iscoroutine(answer):
        answer.close()  # or Python would warn that nobody awaited it
        return _refused("its handler returned a coroutine, which nobody awaits: write `async def`")
    if inspect.isgenerator(answer) or inspect.isasyncgen(answer) or inspect.isawaitable(answer):
        return _refused(f"its handler returned {_a(answer)}, whose work is not done: wait for it, and write no `yield`")
    return DONE


def _advice(answer: object, run: Control) -> str:
    forgotten = next(made for made in run.answers if made is not answer)
    return f"write `return {HOW_MADE[forgotten.ending.kind]}`"


def _a(answer: object) -> str:
    name = type(answer).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _refused(error: str) -> Ending:
    return Ending("retry", error, raised=True)


def unreadable(error: CorruptError) -> Ending:
    """A value that is not the queue's type any more: failed for good."""
    told = CorruptError(f"{UNREAD}: {error}", without_values=f"{UNREAD}: {error.without_values}")
    return Ending("failed", error_text(told), raised=True, exception=error)


def raised(error: BaseException, run: Control, timeout: int) -> Ending:
    """What an exception out of a handler says: a failed attempt."""
    if run.why == "timeout" and isinstance(error, (asyncio.CancelledError, RunStopped)):
        text = f"the run passed its timeout of {timeout / 1e6:.6f}".rstrip("0").rstrip(".") + " s"
    else:
        text = error_text(error)
    return Ending("retry", text, traceback_text(error), raised=True, exception=error)


def in_a_line(ending: Ending) -> str:
    """How a run failed, for a line of the log: the error's class and the first line of its text."""
    text = first_line(ending.error or "")
    name = "" if ending.exception is None else plain(class_name(ending.exception))
    return text if not name or name == text else f"{name}: {text}"
