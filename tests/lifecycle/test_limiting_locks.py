"""Limits between transactions that are open at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.models import QuerySet

from tests.byhand import Hand
from tests.lifecycle.limited import State, add, aside, keys, ready, took
from tests.programs import wait_for
from tests.races.helpers import waits_for_a_lock
from tinystore_django import Concurrency, Queue, Store, models
from tinystore_django.databases import database
from tinystore_django.databases.rows import Held
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db(transaction=True)
BOTH = [{"concurrency": Concurrency(group=1)}, {"concurrency": Concurrency(total=5, group=1), "rate": "9/s"}]


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", concurrency=Concurrency(group=1))


@contextmanager
def elsewhere(call: Callable[[], object]) -> Iterator[threading.Thread]:
    """A call in another thread, on its connection; it has ended when the block has."""

    def run() -> None:
        try:
            call()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    yield thread
    thread.join(20)
    assert not thread.is_alive()


def held_elsewhere(queue: Queue[Any], *ids: str) -> Any:
    """A block in which another connection holds the rows of these ids."""
    return rows_held_elsewhere(models.Job.objects.filter(key__in=ids), len(ids))


def rows_held_elsewhere(rows: QuerySet[Any], count: int) -> Any:
    """A block in which another connection holds so many rows."""
    holds, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            assert len(rows.select_for_update()) == count
            holds.set()
            let_go.wait(20)

    @contextmanager
    def block() -> Iterator[None]:
        with elsewhere(hold):
            assert holds.wait(20)
            try:
                yield
            finally:
                let_go.set()

    return block()


@pytest.mark.postgresql
@pytest.mark.parametrize("limit", BOTH, ids=str)
@pytest.mark.parametrize("most", [1, 10])
def test_a_claim_goes_on_behind_jobs_that_a_transaction_holds(
    most: int, limit: Any, shop: Store, clock: Clock, hand: Hand
) -> None:
    emails = shop.queue("emails", **limit)
    add(emails, "-1 -2 -3 b1")

    with held_elsewhere(emails, "-1", "-2"):
        claimed = hand.claim(emails, most=most)

    assert keys(claimed.held) == ("-3" if most == 1 else "-3 b1")
    assert claimed.next_due is None or claimed.next_due > claimed.now


@pytest.mark.postgresql
def test_a_claim_sets_nobody_aside_behind_a_job_that_a_transaction_may_take_away(shop: Store, hand: Hand) -> None:
    free = shop.queue("emails")
    add(free, "a1 a2 a3 b1")
    limited = Store().queue("emails", concurrency=Concurrency(group=1))

    with held_elsewhere(limited, "a1", "a2", "a3"):
        started = took(hand, limited)

    assert (started, ready(), aside()) == ("b1", "a1 a2 a3", "")


@pytest.mark.postgresql
def test_the_next_of_a_group_starts_while_a_transaction_holds_its_first(shop: Store, hand: Hand) -> None:
    free = shop.queue("emails")
    add(free, "a1 a2 a3")
    limited = Store().queue("emails", concurrency=Concurrency(group=1))

    with held_elsewhere(limited, "a1"):
        held = hand.take(limited, 5)
    hand.end(held[0])

    assert keys(held) == "a2"
    assert took(hand, limited) == "a1"


@pytest.mark.postgresql
@pytest.mark.parametrize("limits", [{"concurrency": 2}, {"rate": "9/s"}], ids=["total", "rate"])
@pytest.mark.parametrize("beside", [True, False], ids=["beside another queue", "alone"])
def test_a_queue_whose_row_somebody_holds_is_not_taken_for_one_that_has_nothing_due(
    limits: Any, beside: bool, shop: Store, hand: Hand
) -> None:
    limited = shop.queue("limited", **limits)
    limited.add("a")
    shop.queue("free")
    database("default").limits.open(["limited"])
    wanted = {"limited": 1} | ({"free": 1} if beside else {})
    asked = Asked(wanted, {"limited": limited._declaration.options})

    with rows_held_elsewhere(models.Queue.objects.filter(name="limited"), 1):
        _, held_up = turn("default", hand.lease, (), asked)
        assert hand.take(limited) == []
    _, free = turn("default", hand.lease, (), asked)

    assert held_up is None or (held_up.held, held_up.floored) == ([], True)
    assert free is not None
    assert len(free.held) == 1


@pytest.mark.postgresql
def test_a_job_that_an_add_set_aside_and_committed_late_is_found(emails: Queue[Any], hand: Hand) -> None:
    add(emails, "a1")
    added, commit = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            add(emails, "a2")
            added.set()
            commit.wait(20)

    with elsewhere(slow):
        assert added.wait(20)
        hand.end(hand.take_one(emails))
        before = took(hand, emails)
        commit.set()

    assert (before, aside()) == ("", "a2")
    assert took(hand, emails) == "a2"


@pytest.mark.postgresql
def test_a_run_that_ends_while_a_claim_sets_its_group_aside_waits_for_it_and_brings_the_next_back(
    shop: Store, hand: Hand
) -> None:
    add(shop.queue("emails"), "a1 a2")
    limited = Store().queue("emails", concurrency=Concurrency(group=1))
    first = hand.take(limited, 1)[0]

    with transaction.atomic():
        assert took(hand, limited) == ""
        assert aside() == "a2"
        ends = elsewhere(lambda: hand.end(first))
        thread = ends.__enter__()
        wait_for(waits_for_a_lock)
        assert thread.is_alive()
    ends.__exit__(None, None, None)

    assert ready() == "a2"


@pytest.mark.postgresql
@pytest.mark.parametrize("limit", [2, Concurrency(total=2, group=2)])
def test_a_claim_waits_for_another_and_counts_what_it_took(limit: Any, shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", concurrency=limit)
    add(emails, "-1 -2 -3")
    other, seen = Hand(), list[str]()
    database("default").limits.open(["emails"])

    with transaction.atomic():
        mine = took(hand, emails, 1)
        claims = elsewhere(lambda: seen.append(took(other, emails)))
        claims.__enter__()
        wait_for(waits_for_a_lock)
    claims.__exit__(None, None, None)

    assert (mine, seen) == ("-1", ["-2"])


OPTIONS: dict[str, Any] = {"concurrency": Concurrency(total=4, group=1), "group_rate": "500/m"}


def test_workers_and_users_at_once_never_pass_a_limit_nor_wait_for_each_other_in_a_circle(
    shop: Store, clock: Clock
) -> None:
    queues = [shop.queue(name, str, attempts=100, **OPTIONS) for name in ("emails", "letters")]
    queues.append(shop.queue("calls", str, attempts=100, concurrency=2))
    errors: list[BaseException] = []

    def guarded(act: Callable[[Random], None], seed: int) -> Callable[[], None]:
        def run() -> None:
            try:
                act(Random(seed))
            except BaseException as error:
                errors.append(error)

        return run

    threads = [elsewhere(guarded(lambda random: work(queues, random), seed)) for seed in range(2)]
    threads += [elsewhere(guarded(lambda random: use(queues, random), seed)) for seed in range(2)]
    for one in threads:
        one.__enter__()
    for one in threads:
        one.__exit__(None, None, None)

    assert errors == []
    assert models.Job.objects.filter(state=State.RUNNING).count() == 0
    assert sum(queue.run_due(lambda value: None) for queue in queues) >= 0
    assert models.Job.objects.filter(state__in=[State.READY, State.ASIDE]).count() == 0


def work(queues: list[Queue[Any]], random: Random) -> None:
    hand, held = Hand(), list[Held]()
    for _ in range(40):
        held += hand.claim(*random.sample(queues, 2), most=2).held
        check_limits()
        while held and random.random() < 0.6:
            end(hand, held.pop(), random.choice(["done", "given back", "lost"]))
    for one in held:
        end(hand, one, "done")


def end(hand: Hand, held: Held, kind: Any) -> None:
    """Settles a run, again where somebody held its row just then, as a worker does at its next round."""
    run = models.Job.objects.filter(pk=held.id, run=held.run, lease=held.lease, state=State.RUNNING)
    wait_for(lambda: hand.end(held, kind) is not None or not run.exists())


def check_limits() -> None:
    """One look, and so one instant."""
    running = models.Job.objects.filter(state=State.RUNNING).values_list("queue", "group")
    counts = Counter(running)
    totals = Counter(queue for queue, _ in counts.elements())
    assert all(totals[queue] <= most for queue, most in [("emails", 4), ("letters", 4), ("calls", 2)]), totals
    assert all(count <= 1 for (queue, group), count in counts.items() if group and queue != "calls"), counts


def use(queues: list[Queue[Any]], random: Random) -> None:
    for _ in range(60):
        queue, id, group = random.choice(queues), str(random.randint(1, 30)), random.choice(["a", "b", None])
        call: Any = random.choice([queue.add, queue.set, queue.update])
        if random.random() < 0.3:
            queue.cancel(id)
        elif call == queue.add:
            queue.add("v", id=id, group=group)
        else:
            call(id, "w", group=group)
