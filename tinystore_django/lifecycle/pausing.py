"""A paused queue starts no job until it is resumed. What runs goes on, and adds, sets and cancels are as ever."""

from __future__ import annotations

from datetime import datetime

from ..databases import database
from ..models import Queue
from . import notices
from .locking import known


def pause(alias: str, queue: str) -> bool:
    """Keeps every worker from starting jobs of a queue or schedule; False if it was paused already.

    A claim asks for it in its own statement: none that begins after this is committed takes a job of the queue.
    """
    rows = Queue.objects.using(alias)
    rows.get_or_create(name=queue)
    return rows.filter(name=queue, paused_at__isnull=True).update(paused_at=database(alias).now_expression()) > 0


def resume(alias: str, queue: str) -> bool:
    """Lets its jobs start again, those that fell due meanwhile at once; False if it was not paused."""
    resumed = Queue.objects.using(alias).filter(name=queue, paused_at__isnull=False).update(paused_at=None) > 0
    if resumed:
        notices.changed(alias, queue)
    return resumed


def paused(alias: str) -> dict[str, datetime]:
    """The paused queues and schedules, and since when."""
    rows = Queue.objects.using(alias).filter(paused_at__isnull=False).order_by("name")
    return {known(name): known(at) for name, at in rows.values_list("name", "paused_at")}
