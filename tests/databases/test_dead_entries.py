"""Claims while a transaction that stays open keeps the entries of tens of thousands of jobs that have run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections

from tests.byhand import Hand, after
from tinystore_django import Concurrency, Queue, Store, Worker
from tinystore_django.databases import database
from tinystore_django.databases.rows import Claimed, Held
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import claim, turn
from tinystore_django.lifecycle.counts import Counts
from tinystore_django.lifecycle.floors import FEW, RUNNING, Floors
from tinystore_django.lifecycle.settling import Finished
from tinystore_django.testing import Clock

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

CHURNED = 15_000
CHURN = [
    "insert into tinystore_django_job (queue, value, at, due) select 'emails', '1', n, n from generate_series(1, %s) n",
    "update tinystore_django_job set state = 1, run = run + 1, started_at = at where at <= %s",
    "delete from tinystore_django_job where at <= %s",
]


@contextmanager
def held_open() -> Iterator[None]:
    """A transaction elsewhere that has read something, and goes on."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("begin isolation level repeatable read")
            cursor.execute("select count(*) from tinystore_django_lease")
            yield
    finally:
        other.close()


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails", str)


@pytest.fixture
def dead(transactional_db: None) -> Iterator[None]:
    with held_open(), connection.cursor() as cursor:
        for statement in CHURN:
            cursor.execute(statement, [CHURNED])
        yield


def round_(hand: Hand, floors: Floors, most: int = 1) -> Claimed:
    claimed = turn("default", hand.lease, (), Asked({"emails": most}, floors=floors))[1]
    assert claimed is not None
    return claimed


def test_only_the_first_claims_go_through_the_entries_of_jobs_that_ran(dead: None, emails: Queue[Any]) -> None:
    emails.add_many(["a"] * 100)
    hand, floors = Hand(), Floors(lambda: 0.0)

    claims = [round_(hand, floors, 10) for _ in range(RUNNING + 2)]

    assert [len(one.held) for one in claims] == [10] * (RUNNING + 2)
    assert min(one.entries for one in claims[:RUNNING]) > CHURNED
    assert max(one.entries for one in claims[RUNNING:]) < 100
    assert [one.floored for one in claims] == [False] * RUNNING + [True, True]


def test_a_claim_without_dead_entries_reads_few_entries(emails: Queue[Any]) -> None:
    emails.add_many(["a"] * 200)
    hand, floors = Hand(), Floors()

    assert [round_(hand, floors, 100).entries < FEW for _ in range(2)] == [True, True]
    assert floors.starts() == {}


def test_a_job_of_before_the_floor_is_taken_once_the_floor_has_ended(
    dead: None, emails: Queue[Any], clock: Clock
) -> None:
    emails.add_many(["a"] * 10)
    time = 0.0
    hand, floors = Hand(), Floors(lambda: time)
    for _ in range(RUNNING):
        round_(hand, floors)
    emails.add("early", id="early", at=after(hours=-1))

    floored = round_(hand, floors)
    time = 1.0
    full = round_(hand, floors)

    assert [floored.held[0].key, full.held[0].key] == [None, "early"]
    assert floored.next_due is not None
    assert floored.now < floored.next_due <= floored.now + 1_000_000


def test_a_job_that_is_added_now_is_taken_in_its_place(dead: None, emails: Queue[Any], clock: Clock) -> None:
    emails.add_many(["a"] * 10)
    hand, floors = Hand(), Floors(lambda: 0.0)
    for _ in range(RUNNING):
        round_(hand, floors, 2)
    emails.add("lately", id="lately", at=after(seconds=-0.9))

    assert round_(hand, floors).held[0].key == "lately"


def test_one_who_asks_whether_anything_is_due_is_told_of_jobs_before_the_floor(
    dead: None, emails: Queue[Any], clock: Clock
) -> None:
    hand, floors = Hand(), Floors(lambda: 0.0)
    for _ in range(RUNNING):
        assert claim("default", hand.lease, {"emails": 1}, floors=floors).held == []
    emails.add("early", id="early", at=after(hours=-1))

    taken = [claim("default", hand.lease, {"emails": 1}, floors=floors).held for _ in range(2)]

    assert [[held.key for held in some] for some in taken] == [["early"], []]


@pytest.mark.parametrize("concurrency", [None, 2])
def test_run_due_runs_what_its_handlers_add_before_the_floor(
    concurrency: int | None, dead: None, emails: Queue[Any]
) -> None:
    emails.add_many(["first"] * 20)
    ran = []

    def handler(value: str) -> None:
        ran.append(value)
        if value == "first":
            emails.add("early", at=after(days=-300 - len(ran)))

    assert emails.run_due(handler, concurrency=concurrency) == 40
    assert sorted(ran) == ["early"] * 20 + ["first"] * 20


def test_a_worker_runs_a_job_of_before_the_floor_within_about_a_second(dead: None, emails: Queue[Any]) -> None:
    emails.add_many(["first"] * 100)
    emails.handler(lambda value: emails.add("early", at=after(days=-300)) if value == "first" else None)
    worker = Worker([emails._declaration], concurrency=5, poll=60_000_000, until_idle=True).start()

    assert worker.wait(20)
    assert worker.settled == 200


def test_the_look_at_a_queue_with_a_rate_goes_through_them_at_first_only(dead: None, shop: Store) -> None:
    emails: Queue[Any] = shop.queue("emails", str, rate="1000/s")
    emails.add_many(["a"] * 100)
    hand, floors, limits = Hand(), Floors(lambda: 0.0), {"emails": emails._declaration.options}
    asked = Asked({"emails": 10}, limits, floors=floors)

    claims = [turn("default", hand.lease, (), asked)[1] for _ in range(RUNNING + 2)]

    assert [len(one.held) for one in claims if one] == [10] * (RUNNING + 2)
    assert [one.entries > FEW for one in claims if one] == [True] * RUNNING + [False, False]


@pytest.fixture
def grouped(shop: Store, clock: Clock) -> Queue[Any]:
    """Jobs of one group, of which one may run, and after them many of none."""
    emails: Queue[Any] = shop.queue("emails", str, concurrency=Concurrency(group=1))
    for number in range(3):
        emails.add("a", id=f"a{number}", group="a", at=after(minutes=-2))
    emails.add_many(["-"] * 50, at=after(minutes=-1))
    database("default").limits.open(["emails"])
    return emails


def start_one(hand: Hand, queue: Queue[Any], floors: Floors, *ended: Held) -> Claimed:
    """One round of a worker in which these runs have ended."""
    options = queue._declaration.options
    finished = [Finished(one, Ending("done"), options) for one in ended]
    claimed = turn("default", hand.lease, finished, Asked({"emails": 1}, {"emails": options}, ended, floors))[1]
    assert claimed is not None
    return claimed


def test_what_a_worker_brings_back_to_before_its_floor_it_starts_in_its_place(dead: None, grouped: Queue[Any]) -> None:
    hand, floors = Hand(), Floors(lambda: 0.0)
    claims = [start_one(hand, grouped, floors) for _ in range(RUNNING + 1)]
    for _ in range(2):
        claims.append(start_one(hand, grouped, floors, claims[0].held[0]))
        claims[0] = claims[-1]
    claims.append(start_one(hand, grouped, floors))

    assert [one.held[0].key for one in claims] == ["a2", None, None, None, "a1", "a2", None]
    assert [one.entries > FEW for one in claims[1:]] == [True] * (RUNNING - 1) + [False] * 4


def test_what_another_worker_brings_back_to_before_a_floor_is_started_once_the_floor_has_ended(
    dead: None, grouped: Queue[Any]
) -> None:
    time = 0.0
    hand, floors = Hand(), Floors(lambda: time)
    claims = [start_one(hand, grouped, floors) for _ in range(RUNNING + 1)]
    Hand().end(claims[0].held[0])
    floored = start_one(hand, grouped, floors)
    time = 1.0
    full = start_one(hand, grouped, floors)

    assert [floored.held[0].key, full.held[0].key] == [None, "a1"]
    assert floored.next_due is not None
    assert floored.next_due <= floored.now + 1_000_000


class Noted(Counts):
    """Counts, and how many entries of the index of what runs each of them read."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.read: list[int] = []

    def note(self, taken: Any, now: int, entries: int, old: Any) -> None:
        self.read.append(entries)
        super().note(taken, now, entries, old)


@pytest.mark.parametrize("limit", [100, Concurrency(group=100)], ids=str)
def test_only_the_first_counts_of_what_runs_go_through_the_entries_of_jobs_that_ran(
    limit: Any, dead: None, shop: Store
) -> None:
    emails: Queue[Any] = shop.queue("emails", str, concurrency=limit)
    emails.add_many(["a"] * 100, group=lambda _: "g")
    database("default").limits.open(["emails"])
    hand, counts, limits = Hand(), Noted(), {"emails": emails._declaration.options}
    asked = Asked({"emails": 10}, limits, floors=Floors(lambda: 0.0), counts=counts)

    claims = [turn("default", hand.lease, (), asked)[1] for _ in range(6)]

    assert [len(one.held) for one in claims if one] == [10] * 6
    assert min(counts.read[:2]) >= CHURNED
    assert max(counts.read[2:]) < 100
