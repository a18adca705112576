"""What is said after a commit: to the workers, that there is something to do; to the project, that a job was added."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

from django.db import Error, connections

from .. import conf
from ..databases import database
from ..databases.listening import ANY
from ..log import logger
from ..signals import job_added
from ..timing import clock

# A worker that hears a notice looks at once and again a little later, so that one notice speaks for what is added
# within this time of it, in seconds.
QUIET = 0.02

_lock = threading.Lock()
_told: dict[tuple[str, str], float] = {}
_subscribers: dict[str, set[Callable[[str], None]]] = {}


def added(alias: str, queue: str, key: str | None) -> None:
    """Says, once the open transaction has committed, that a job was added."""
    _after_commit(alias, partial(_say_added, alias, queue, key))


def changed(alias: str, queue: str) -> None:
    """Says, once the open transaction has committed, that a job may be due sooner."""
    _after_commit(alias, partial(tell, alias, queue))


def subscribe(alias: str, callback: Callable[[str], None]) -> Callable[[], None]:
    """Calls back with the queue at each notice of this process; the answer ends it."""
    with _lock:
        _subscribers.setdefault(alias, set()).add(callback)
    return lambda: _subscribers[alias].discard(callback)


def clock_moved() -> None:
    """Wakes this process's workers: a test clock was moved."""
    for callback in [one for some in tuple(_subscribers.values()) for one in tuple(some)]:
        callback(ANY)


clock.on_move(clock_moved)


def tell(alias: str, queue: str) -> None:
    """Wakes the workers of a queue. A notice that cannot be sent costs them a poll, and the caller nothing."""
    for callback in tuple(_subscribers.get(alias, ())):
        callback(queue)
    if _told_lately(alias, queue) or not conf.notify():
        return
    try:
        database(alias).tell(queue)
    except Error:
        logger.warning("no notice of queue %s could be sent: its workers find the job at their next poll", queue)


def _say_added(alias: str, queue: str, key: str | None) -> None:
    tell(alias, queue)
    try:
        answers = job_added.send_robust(sender=queue, id=key)
    except Exception as error:  # of Django's own log, which tells of a receiver that raised: the job is added
        answers = [(job_added, error)]
    for _, answer in answers:
        if isinstance(answer, Exception):
            logger.error("a receiver of job_added raised", exc_info=answer)


def _told_lately(alias: str, queue: str) -> bool:
    now = time.monotonic()
    with _lock:
        if now - _told.get((alias, queue), -QUIET) < QUIET:
            return True
        _told[alias, queue] = now
        return False


def _after_commit(alias: str, call: Callable[[], None]) -> None:
    connection = connections[alias]
    # Where the project manages transactions by hand, Django has no hook for the commit: the workers' poll finds it.
    if connection.in_atomic_block or connection.get_autocommit():
        connection.on_commit(call, robust=True)
