"""Sends the signals of a run. A receiver that raises is logged, and changes nothing."""

from __future__ import annotations

import logging
from typing import Any

from ..databases.rows import Held
from ..signals import job_settled, job_started

logger = logging.getLogger("tinystore_django")

# Outcomes after which the error on the job's row, if any, is of an earlier run.
WITHOUT_ERROR = ("done", "snoozed", "cancelled")


def started(held: Held) -> None:
    """Says that a handler is about to be called."""
    if job_started.has_listeners(held.queue):
        _log(job_started.send_robust(sender=held.queue, id=held.key, attempt=held.attempt))


async def astarted(held: Held) -> None:
    """The same on an event loop."""
    if job_started.has_listeners(held.queue):
        _log(await job_started.asend_robust(sender=held.queue, id=held.key, attempt=held.attempt))


def settled(held: Held, outcome: str, error: str | None) -> None:
    """Says that a run is settled."""
    if job_settled.has_listeners(held.queue):
        error = None if outcome in WITHOUT_ERROR else error
        about = {"id": held.key, "attempt": held.attempt, "outcome": outcome, "error": error}
        _log(job_settled.send_robust(sender=held.queue, **about))


def _log(responses: list[tuple[Any, Any]]) -> None:
    for receiver, answer in responses:
        if isinstance(answer, Exception):
            logger.error("receiver %s raised", receiver, exc_info=answer)
