"""Sends the signals of a run. A receiver that raises is logged, and changes nothing."""

from __future__ import annotations

from typing import Any

from ..databases.rows import Held
from ..lifecycle.aftermath import Ending
from ..log import logger
from ..signals import QueueSignal, job_settled, job_started
from .connections import Care
from .endings import DONE

# Outcomes after which the error on the job's row, if any, is of an earlier run.
WITHOUT_ERROR = ("done", "snoozed", "cancelled")


def started(held: Held) -> None:
    """Says that a handler is about to be called."""
    if job_started.has_listeners(held.queue):
        _send(job_started, held, {})


async def astarted(held: Held) -> None:
    """The same on an event loop."""
    if job_started.has_listeners(held.queue):
        try:
            _log(await job_started.asend_robust(sender=held.queue, **_about(held)))
        except Exception as error:
            _log([(job_started, error)])


def settled(held: Held, outcome: str, ending: Ending) -> None:
    """Says that a run is settled."""
    if job_settled.has_listeners(held.queue):
        told = DONE if outcome in WITHOUT_ERROR else ending
        about = {"error": told.error, "exception": told.exception, "traceback": told.traceback}
        _send(job_settled, held, {"outcome": outcome, **about})


def settled_in_thread(held: Held, outcome: str, ending: Ending, care: Care) -> None:
    """The same in a thread of the handlers'."""
    with care:
        settled(held, outcome, ending)


def _send(signal: QueueSignal, held: Held, more: dict[str, Any]) -> None:
    try:
        _log(signal.send_robust(sender=held.queue, **_about(held), **more))
    except Exception as error:  # of Django's own log, which tells of a receiver that raised
        _log([(signal, error)])


def _about(held: Held) -> dict[str, Any]:
    return {"id": held.key, "job": held.id, "attempt": held.attempt}


def _log(responses: list[tuple[Any, Any]]) -> None:
    for receiver, answer in responses:
        if isinstance(answer, Exception):
            logger.error("receiver %s raised", receiver, exc_info=answer)
