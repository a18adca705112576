"""Counts of what runs that build on one another: they come to what a count of all rows does."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.byhand import Hand, after
from tests.lifecycle.limited import Rule
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.databases import database
from tinystore_django.databases.rows import Held
from tinystore_django.lifecycle import asides, counts, limiting
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.lifecycle.counts import Counts
from tinystore_django.testing import Clock

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

LIMITS = [5, Concurrency(group=2)]


@pytest.fixture(autouse=True)
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts build on one another whenever they may."""
    monkeypatch.setattr(counts, "FEW", -1)
    monkeypatch.setattr(counts, "SECONDS", 60.0)
    monkeypatch.setattr(counts, "LONGEST", 60.0)


@pytest.fixture(params=LIMITS, ids=str)
def queue(request: pytest.FixtureRequest, shop: Store, clock: Clock) -> Queue[Any]:
    queue = shop.queue("emails", int, attempts=10**6, concurrency=request.param)
    database("default").limits.open(["emails"])
    return queue


class Counting(Counts):
    """Those of one worker, whose time goes with the test's clock, but not back."""

    def __init__(self, time: Time) -> None:
        super().__init__(lambda: time.passed)
        self.built = 0

    def note(self, taken: Any, now: int, entries: int, old: Any) -> None:
        self.built += sum(link.builds for link in taken.values())
        super().note(taken, now, entries, old)


class Time:
    """The time by the server's clock, which may be set back, and the seconds that have passed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.passed = 0.0

    def pass_(self, milliseconds: int) -> None:
        self.passed += milliseconds / 1000
        self.clock.advance(f"{milliseconds}ms")

    def set_back(self, milliseconds: int) -> None:
        self.clock.set(self.clock.now - (after(seconds=milliseconds / 1000) - after()))


class Counter(Hand):
    """A worker whose counts build on one another."""

    def __init__(self, queue: Queue[Any], time: Time) -> None:
        super().__init__()
        self.queue = queue
        self.counts = Counting(time)
        self.holds: list[Held] = []

    def start(self, most: int = 1) -> list[Held]:
        limits = {self.queue.name: self.queue._declaration.options}
        asked = Asked({self.queue.name: most}, limits, counts=self.counts)
        claimed = turn(self.alias, self.lease, (), asked)[1]
        assert claimed is not None
        self.holds += claimed.held
        return claimed.held

    def look(self) -> None:
        """Counts, and gives back what it started."""
        for held in self.start():
            self.holds.remove(held)
            self.end(held, "given back")


@pytest.fixture
def time(clock: Clock) -> Time:
    return Time(clock)


@pytest.fixture
def mine(queue: Queue[Any], time: Time) -> Counter:
    return Counter(queue, time)


@pytest.fixture
def other(queue: Queue[Any], time: Time) -> Counter:
    return Counter(queue, time)


def fill(queue: Queue[Any], jobs: int = 20) -> None:
    queue.add_many(range(jobs), at=after(days=-1), group=lambda number: "abc"[number % 3])


def most_of(queue: Queue[Any]) -> int:
    """How many of the jobs of three groups may run."""
    return queue._declaration.options.total or 6


def test_runs_of_seconds_ago_count_as_long_as_they_last(
    queue: Queue[Any], mine: Counter, other: Counter, time: Time
) -> None:
    fill(queue)
    other.start(2)
    other.start(2)
    for _ in range(10):
        time.pass_(400)
        mine.look()
    other.end(other.holds[0])
    started = mine.start(10)

    assert mine.counts.built > 5
    assert len(started) == most_of(queue) - 3


def test_a_job_that_another_worker_starts_again_counts_once(
    queue: Queue[Any], mine: Counter, other: Counter, time: Time
) -> None:
    fill(queue)
    (old,) = other.start()
    for _ in range(5):
        time.pass_(450)
        mine.look()
    other.end(old, "given back")
    (again,) = other.start()

    assert (again.id, mine.counts.built) == (old.id, 3)
    assert len(mine.start(10)) == most_of(queue) - 1


@pytest.mark.parametrize(("back", "looks"), [(400, False), (1_500, True)])
def test_a_clock_that_is_set_back_hides_no_run(
    back: int, looks: bool, queue: Queue[Any], mine: Counter, other: Counter, time: Time
) -> None:
    fill(queue)
    for _ in range(4):
        time.pass_(300)
        mine.start()
    time.set_back(back)
    other.start(10)

    assert len(mine.holds) + len(other.holds) == most_of(queue)
    assert mine.counts.built > 1
    if looks:
        assert mine.start(10) == []
    time.pass_(back)
    assert mine.start(10) == []


def test_a_round_that_fails_is_not_built_on(queue: Queue[Any], mine: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(queue)
    mine.start()
    for _ in range(2):
        mine.look()
    with monkeypatch.context() as patch:
        patch.setattr(limiting, "together", lambda claims: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            mine.start()

    mine.look()

    assert mine.counts.built == 2  # the last of the three, and the one that failed


@pytest.mark.parametrize("seed", range(1))
def test_every_claim_takes_what_the_rule_says_whatever_happens_between_them(
    seed: int, queue: Queue[Any], time: Time
) -> None:
    random, rule = Random(seed), Rule(queue._declaration.options)
    queue.add_many(range(60), id=str, at=after(days=-1), group=lambda number: "abc"[number % 3])
    workers = [Counter(queue, time) for _ in range(3)]
    for _ in range(150):
        worker = random.choice(workers)
        happens = random.random()
        if happens < 0.2:
            time.pass_(random.choice([1, 50, 300, 600, 1_100]))
        elif happens < 0.22:
            time.set_back(random.choice([400, 1_000, 2_500]))
        elif happens < 0.5 and worker.holds:
            ended = worker.holds.pop(random.randrange(len(worker.holds)))
            worker.end(ended, random.choice(["given back", "given back", "lost"]))
            asides.tend("default", {"emails": queue._declaration.options})
        else:
            most = random.choice([1, 2, 10])
            expected = rule.expects("emails", database("default").now(), most)
            assert [held.key for held in worker.start(most)] == expected

    assert sum(worker.counts.built for worker in workers) > 5
