"""Whatever happens to a limited queue's jobs, each claim starts exactly those that its limits allow, in their order."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.byhand import Hand, after, us
from tests.lifecycle.limited import Rule
from tinystore_django import Backoff, Concurrency, Queue, Store
from tinystore_django.databases.rows import Held
from tinystore_django.lifecycle import limiting
from tinystore_django.testing import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
STEPS = 50
LIMITS: dict[str, dict[str, Any]] = {
    "total": {"concurrency": 3},
    "group": {"concurrency": Concurrency(group=1)},
    "groups of 2": {"concurrency": Concurrency(group=2)},
    "total and group": {"concurrency": Concurrency(total=4, group=2)},
    "rate": {"rate": "3/10s"},
    "group rate": {"group_rate": "2/10s"},
    "one a span": {"group_rate": "1/5s"},
    "group and its rate": {"concurrency": Concurrency(group=3), "group_rate": "2/10s"},
    "a slow group and its rate": {"concurrency": Concurrency(group=1), "group_rate": "3/20s"},
    "all": {"concurrency": Concurrency(total=5, group=2), "rate": "4/5s", "group_rate": "3/10s"},
}


class Life:
    """A queue to which things happen at random."""

    def __init__(self, queue: Queue[Any], clock: Clock, ends: int) -> None:
        self.queue, self.clock, self.ends, self.random = queue, clock, ends, Random(ends)
        self.hand, self.rule = Hand(), Rule(queue._declaration.options)
        self.held: list[Held] = []
        self.count = 0

    def step(self) -> None:
        happens = [self.add, self.add, self.add_many, self.set, self.update, self.cancel, *[self.move] * 2]
        self.random.choice([*happens, *[self.end] * self.ends, *[self.claim] * 6])()

    def add(self) -> None:
        self.count += 1
        self.queue.add("v", id=str(self.count), group=self._group(), at=self._time())

    def add_many(self) -> None:
        ids = [str(self.random.randint(1, self.count + 8)) for _ in range(8)]
        self.count += 8
        self.queue.add_many(ids, id=str, group=lambda _: self._group(), at=self._time())

    def set(self) -> None:
        self.queue.set(self._id(), "w", group=self._group(), delay=self.random.choice(["0s", "3s"]))

    def update(self) -> None:
        time = {"at": self._time()} if self.random.random() < 0.5 else {}
        self.queue.update(self._id(), "u", group=self._group(), **time)  # type: ignore[arg-type]

    def cancel(self) -> None:
        self.queue.cancel(self._id())

    def end(self) -> None:
        if self.held:
            held = self.held.pop(self.random.randrange(len(self.held)))
            kind: Any = self.random.choice(["done", "done", "retry", "snoozed", "failed", "lost", "given back"])
            self.hand.end(held, kind, delay=0 if kind == "retry" else 2_000_000)

    def move(self) -> None:
        self.clock.advance(self.random.choice(["1ms", "500ms", "1s", "5s", "9s"]))

    def claim(self) -> None:
        most = self.random.choice([1, 1, 2, 10])
        expected = self.rule.expects("emails", us(self.clock.now), most)
        taken = self.hand.take(self.queue, most)
        self.held += taken
        assert [one.key for one in taken] == expected

    def _id(self) -> str:
        return str(self.random.randint(1, self.count + 1))

    def _group(self) -> str | None:
        return self.random.choice(["a", "a", "b", None])

    def _time(self) -> Any:
        return after(seconds=self.random.choice([-5, 0, 0, 0, 30, 60]))


@pytest.mark.parametrize("ends", [0, 3], ids=["endless runs", "short ones"])
@pytest.mark.parametrize("limits", LIMITS)
def test_each_claim_starts_exactly_what_the_limits_allow(
    limits: str, ends: int, shop: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The look for jobs left aside would hide that one was.
    monkeypatch.setattr(limiting, "refill", lambda *about: False)
    queue = shop.queue("emails", str, attempts=100, backoff=Backoff("1s", "1s"), **LIMITS[limits])
    life = Life(queue, clock, ends)

    for _ in range(STEPS):
        life.step()

    assert len(life.rule.starts) > 2
