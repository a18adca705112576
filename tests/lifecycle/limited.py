"""What the tests of limits share: jobs named after their groups, and the rule a claim is held against."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.byhand import Hand
from tinystore_django import Queue, models
from tinystore_django.options import QueueOptions

State = models.Job.State


def add(queue: Queue[Any], keys: str, **when: Any) -> None:
    """Adds a job for each word: "a1" is of group "a", "-1" of none."""
    for key in keys.split():
        queue.add(key, id=key, group=group_of(key), **when)


def group_of(key: str) -> str | None:
    return None if key.startswith("-") else key[0]


def took(hand: Hand, queue: Queue[Any], most: int = 10) -> str:
    """The ids of what one claim starts, in its order."""
    return keys(hand.take(queue, most))


def keys(some: Any) -> str:
    return " ".join(str(one.key) for one in some)


def in_state(state: int, queue: str = "emails") -> str:
    return keys(models.Job.objects.filter(queue=queue, state=state).order_by("at", "id"))


def aside(queue: str = "emails") -> str:
    return in_state(State.ASIDE, queue)


def ready(queue: str = "emails") -> str:
    return in_state(State.READY, queue)


class Rule:
    """What the limits allow, from all rows and a list of all starts: slow, and plainly right."""

    def __init__(self, options: QueueOptions) -> None:
        self.options = options
        self.starts: list[tuple[int, str | None]] = []

    def expects(self, queue: str, now: int, most: int) -> list[str | None]:
        running = Counter(models.Job.objects.filter(queue=queue, state=State.RUNNING).values_list("group", flat=True))
        started: list[str | None] = []
        waiting = models.Job.objects.filter(queue=queue, state__in=[State.READY, State.ASIDE], at__lte=now)
        for key, group in waiting.order_by("at", "id").values_list("key", "group"):
            if len(started) == most or not self._queue_may(running, now):
                break
            if group is None or self._group_may(group, running, now):
                running[group] += 1
                self.starts.append((now, group))
                started.append(key)
        return started

    def _queue_may(self, running: Counter[str | None], now: int) -> bool:
        options = self.options
        return (options.total is None or running.total() < options.total) and (
            options.rate is None or self._since(now - options.rate.span) < options.rate.count
        )

    def _group_may(self, group: str, running: Counter[str | None], now: int) -> bool:
        options = self.options
        return (options.group is None or running[group] < options.group) and (
            options.group_rate is None or self._since(now - options.group_rate.span, group) < options.group_rate.count
        )

    def _since(self, at: int, group: str | None = None) -> int:
        return sum(start > at and group in (None, of) for start, of in self.starts)
