"""How many run at once over all workers, in all and in each group."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.byhand import Hand, after, row, us
from tests.lifecycle.limited import State, add, aside, keys, ready, took
from tinystore_django import Concurrency, Queue, Run, Store, Worker, models
from tinystore_django.lifecycle import limiting
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import claim, turn
from tinystore_django.lifecycle.settling import Finished
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
KINDS = ["done", "retry", "snoozed", "failed", "lost", "given back"]
HOSTILE = [
    "it's",
    '"q"',
    "100%",
    "%s",
    "%(queue)s",
    "a;b",
    "\\",
    "{now}",
    "\u00e9\U0001f600",
    "\x01\n",
    "x" * 1024,
    "[1]",
]


@pytest.fixture
def one_a_group(shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", concurrency=Concurrency(group=1))


def test_no_more_than_the_total_run_over_all_workers(shop: Store, hand: Hand) -> None:
    emails, other = shop.queue("emails", concurrency=2), Hand()
    add(emails, "-1 -2 a3 a4")

    started = [took(hand, emails, 1), took(other, emails), took(hand, emails)]

    assert started == ["-1", "-2", ""]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [2, Concurrency(total=2, group=2)])
def test_a_run_gives_its_place_in_all_back_once_however_it_ends(limit: Any, kind: Any, shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", concurrency=limit)
    add(emails, "-1 -2 -3 -4 -5")
    first = hand.take(emails, 5)[0]

    hand.end(first, kind, delay=9_000_000)
    hand.end(first, kind, delay=9_000_000)

    assert len(hand.take(emails, 5)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_gives_its_place_in_its_group_back_once_however_it_ends(
    kind: Any, one_a_group: Queue[Any], hand: Hand
) -> None:
    add(one_a_group, "a1 a2 a3")
    first = hand.take_one(one_a_group)

    hand.end(first, kind, delay=9_000_000)
    hand.end(first, kind, delay=9_000_000)

    assert len(hand.take(one_a_group, 5)) == 1


def test_each_group_has_its_own_places_and_jobs_without_one_have_all(one_a_group: Queue[Any], hand: Hand) -> None:
    add(one_a_group, "a1 a2 b1 -1 b2 -2 c1")

    assert took(hand, one_a_group) == "a1 b1 -1 -2 c1"
    assert took(hand, one_a_group) == ""


def test_groups_and_a_total_hold_together(shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", concurrency=Concurrency(total=4, group=2))
    add(emails, "a1 a2 a3 b1 b2 -1")

    held = hand.take(emails, 10)
    hand.end(held[2])

    assert keys(held) == "a1 a2 b1 b2"
    assert took(hand, emails) == "-1"


def test_jobs_start_in_order_of_time_and_insertion_as_far_as_limits_allow(one_a_group: Queue[Any], hand: Hand) -> None:
    add(one_a_group, "b1 a1 a2 b2")
    add(one_a_group, "a0 -0", at=after(hours=-1))

    held = hand.take(one_a_group, 10)
    for one in held:
        hand.end(one)

    assert keys(held) == "a0 -0 b1"
    assert took(hand, one_a_group) == "a1 b2"


@pytest.mark.parametrize("limit", [{"concurrency": Concurrency(group=1)}, {"group_rate": "1/s"}], ids=str)
def test_a_groups_name_may_be_anything(limit: Any, shop: Store, hand: Hand, clock: Clock) -> None:
    emails = shop.queue("emails", str, **limit)
    emails.add_many([f"{number}" for number in range(2)])
    for number in range(2):
        for group in HOSTILE:
            emails.add(str(number), group=group)
    emails.add_many(HOSTILE, group=lambda group: group)

    counts = []
    for _ in range(3):
        held = hand.take(emails, 100)
        counts.append((len(held), len({one.group for one in held})))
        clock.advance("1s")
        for one in held:
            hand.end(one)

    assert counts == [(2 + len(HOSTILE), 1 + len(HOSTILE)), (len(HOSTILE),) * 2, (len(HOSTILE),) * 2]
    assert models.Job.objects.count() == 0


def test_a_cancelled_run_keeps_its_place_until_its_handler_has_ended(one_a_group: Queue[Any], hand: Hand) -> None:
    add(one_a_group, "a1 a2")
    held = hand.take_one(one_a_group)
    one_a_group.cancel("a1")

    before = took(hand, one_a_group)
    hand.end(held)

    assert (before, took(hand, one_a_group)) == ("", "a2")


def test_a_cancelled_run_keeps_its_place_in_a_total(shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", concurrency=1)
    add(emails, "-1 -2")
    held = hand.take_one(emails)
    emails.cancel("-1")

    before = took(hand, emails)
    hand.end(held)

    assert (before, took(hand, emails)) == ("", "-2")


def test_a_run_that_set_moved_to_another_group_counts_in_its_own_until_it_ends(
    one_a_group: Queue[Any], hand: Hand
) -> None:
    add(one_a_group, "a1 a2 b1")
    held = hand.take(one_a_group, 1)[0]
    one_a_group.set("a1", "again", group="b")

    before = took(hand, one_a_group)
    hand.end(held)

    assert (before, took(hand, one_a_group)) == ("b1", "a2")


def test_a_turn_settles_and_gives_the_places_on_in_one(one_a_group: Queue[Any], hand: Hand) -> None:
    add(one_a_group, "a1 a2 a3")
    held = hand.take_one(one_a_group)
    options = one_a_group._declaration.options
    finished = [Finished(held, Ending("done"), options)]

    _, claimed = turn("default", hand.lease, finished, Asked({"emails": 1}, {"emails": options}, [held]))

    assert claimed is not None
    assert keys(claimed.held) == "a2"


@pytest.mark.parametrize("limit", [1, Concurrency(group=1), Concurrency(total=1, group=1)])
def test_a_turn_that_stops_gives_the_places_back(limit: Any, shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", concurrency=limit)
    add(emails, "a1 a2")
    held = hand.take_one(emails)
    options = emails._declaration.options

    _, claimed = turn(
        "default",
        hand.lease,
        [Finished(held, Ending("done"), options)],
        Asked({}, {"emails": options}, [held]),
    )

    assert claimed is None
    assert took(Hand(), emails) == "a2"


def test_limited_queues_and_others_are_claimed_together(shop: Store, hand: Hand) -> None:
    limited = shop.queue("limited", concurrency=Concurrency(group=1))
    total, plain = shop.queue("total", concurrency=1), shop.queue("plain")
    for queue in (limited, total, plain):
        add(queue, "a1 a2 b1")

    claimed = hand.claim(limited, total, plain, most=5)

    started = [(one.queue, one.key) for one in claimed.held]
    assert sorted(started) == [
        ("limited", "a1"),
        ("limited", "b1"),
        ("plain", "a1"),
        ("plain", "a2"),
        ("plain", "b1"),
        ("total", "a1"),
    ]


@pytest.mark.parametrize("limit", [1, Concurrency(group=1)])
def test_a_full_queue_says_when_its_next_job_falls_due_and_not_now(limit: Any, shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", concurrency=limit)
    add(emails, "a1 a2")
    add(emails, "b1", delay="1h")
    took(hand, emails)

    claimed = hand.claim(emails, most=5)

    assert claimed.held == []
    assert claimed.next_due is None or claimed.next_due > us(after())


def test_a_paused_queue_starts_nothing_and_its_ended_runs_give_their_places_on(
    one_a_group: Queue[Any], hand: Hand
) -> None:
    add(one_a_group, "a1 a2 b1")
    held = hand.take_one(one_a_group)
    models.Queue.objects.update(paused_at=after())
    hand.end(held)

    paused, came_back = took(hand, one_a_group), ready()
    models.Queue.objects.update(paused_at=None)

    assert (paused, came_back) == ("", "a2 b1")
    assert took(hand, one_a_group) == "a2 b1"


def test_a_run_that_ends_while_its_queue_is_paused_brings_the_next_back_in_a_turn(
    one_a_group: Queue[Any], hand: Hand
) -> None:
    add(one_a_group, "a1 a2")
    held = hand.take_one(one_a_group)
    models.Queue.objects.update(paused_at=after())
    options = one_a_group._declaration.options

    turn("default", hand.lease, [Finished(held, Ending("done"), options)],
         Asked({"emails": 1}, {"emails": options}, [held]))  # fmt: skip

    assert (ready(), aside()) == ("a2", "")


def test_a_row_of_a_queue_with_a_total_that_was_deleted_by_hand_is_made_again_at_once(shop: Store, hand: Hand) -> None:
    queue = shop.queue("totalled", int, concurrency=2)
    queue.add_many(range(3))
    limits = {"totalled": queue._declaration.options}

    found = claim("default", hand.lease, {"totalled": 3}, limits)

    assert len(found.held) == 2
    assert not claim("default", hand.lease, {"totalled": 3}, limits).held


@pytest.mark.django_db(transaction=True)
def test_a_worker_takes_jobs_behind_no_row_for_no_sign_that_it_is_idle(shop: Store) -> None:
    queue = shop.queue("totalled", int, concurrency=2)
    ran: list[int] = []
    queue.add_many(range(5))

    def run(number: int) -> None:
        ran.append(number)
        models.Queue.objects.all().delete()

    with Worker([queue._declaration.handled_by(run)], poll=60_000_000, until_idle=True).start() as one:
        assert one.wait(10)

    assert sorted(ran) == [0, 1, 2, 3, 4]


def test_a_row_of_the_queue_that_was_deleted_by_hand_is_made_again(one_a_group: Queue[Any], hand: Hand) -> None:
    add(one_a_group, "a1 a2")
    models.Queue.objects.all().delete()
    options = one_a_group._declaration.options

    _, claimed = turn("default", hand.lease, [], Asked({"emails": 5}, {"emails": options}))

    assert claimed is not None
    assert (keys(claimed.held), models.Queue.objects.count()) == ("a1", 1)


def test_a_claim_looks_further_where_most_of_what_it_sees_has_to_make_way(shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails")
    emails.add_many(range(700), group=lambda _: "a")
    add(emails, "b1")
    limited = Store().queue("emails", concurrency=Concurrency(group=1))

    held = hand.take(limited, 2)

    assert [one.group for one in held] == ["a", "b"]
    assert models.Job.objects.filter(state=State.ASIDE).count() == 699


def test_a_claim_that_saw_only_what_has_to_make_way_asks_to_go_on_at_once(
    shop: Store, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiting, "LONGEST", 100)
    emails = shop.queue("emails")
    emails.add_many(range(400), group=lambda _: "a")
    add(emails, "b1")
    limited = Store().queue("emails", concurrency=Concurrency(group=1))

    claims = [hand.claim(limited, most=2) for _ in range(3)]

    assert [len(one.held) for one in claims] == [1, 0, 1]
    assert [one.next_due == one.now for one in claims] == [True, True, False]


def test_an_atomic_handlers_run_gives_its_place_back(shop: Store, clock: Clock) -> None:
    emails = shop.queue("emails", concurrency=Concurrency(total=1, group=1))
    add(emails, "a1 a2 a3")
    emails.handler(atomic=True)(lambda value: None)

    assert emails.run_due() == 3


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.django_db(transaction=True))])
@pytest.mark.parametrize(
    "limit",
    [{"concurrency": 1}, {"concurrency": Concurrency(group=1)}, {"rate": "99/s", "group_rate": "99/s"}],
    ids=str,
)
def test_run_due_runs_everything_where_limits_allow_it(limit: Any, real: bool, shop: Store, clock: Clock) -> None:
    emails = shop.queue("emails", **limit)
    add(emails, "a1 a2 a3 b1 b2 -1")
    seen: list[str] = []

    assert emails.run_due(seen.append) == 6
    assert sorted(seen) == ["-1", "a1", "a2", "a3", "b1", "b2"]


@pytest.mark.parametrize("concurrency", [None, 3])
@pytest.mark.django_db(transaction=True)
def test_run_due_returns_where_limits_leave_nothing_to_start(
    concurrency: int | None, shop: Store, clock: Clock
) -> None:
    emails = shop.queue("emails", rate="4/m", group_rate="2/m")
    add(emails, "a1 a2 a3 b1 b2 b3")

    counts = [emails.run_due(lambda value: None, concurrency=concurrency)]
    clock.advance("1m")
    counts.append(emails.run_due(lambda value: None, concurrency=concurrency))

    assert counts == [4, 2]


def test_a_run_due_within_a_run_has_what_the_limits_leave(shop: Store, clock: Clock) -> None:
    emails = shop.queue("emails", concurrency=Concurrency(group=1))
    add(emails, "a1 a2 b1")
    inner: list[int] = []

    def outer(value: str, run: Run) -> None:
        if value == "a1":
            inner.append(emails.run_due(lambda value: None))

    assert (emails.run_due(outer), inner) == (2, [1])
    assert row_count() == 0


def row_count() -> int:
    return models.Job.objects.count()


def test_a_lost_workers_runs_count_until_they_are_taken_back(one_a_group: Queue[Any], hand: Hand, clock: Clock) -> None:
    add(one_a_group, "a1 a2")
    took(hand, one_a_group)
    clock.advance("31s")
    before = took(Hand(), one_a_group)

    one_a_group.run_due(lambda value: None)

    assert (before, row_count()) == ("", 0)


def test_the_row_of_a_started_job_says_so(one_a_group: Queue[Any], hand: Hand) -> None:
    add(one_a_group, "a1")

    held = hand.take_one(one_a_group)

    assert (held.attempt, held.run, held.at, held.started_at) == (1, 1, us(after()), us(after()))
    assert (row().state, row().lease, row().run) == (State.RUNNING, hand.lease, 1)


@pytest.mark.parametrize(
    "limit", [{"concurrency": 1}, {"concurrency": Concurrency(group=1)}, {"rate": "1/s", "group_rate": "1/s"}], ids=str
)
def test_limits_hold_while_queries_are_logged_as_under_debug(limit: Any, shop: Store, hand: Hand) -> None:
    emails = shop.queue("emails", **limit)

    with CaptureQueriesContext(connection):
        add(emails, "a1 a2")
        started = [took(hand, emails), took(hand, emails)]

    assert started == ["a1", ""]


def test_an_idle_worker_asks_two_questions_however_many_queues_it_has(
    shop: Store, hand: Hand, django_assert_max_num_queries: Any
) -> None:
    limits: list[dict[str, Any]] = [
        {},
        {"concurrency": 2},
        {"concurrency": Concurrency(group=1)},
        {"rate": "1/s"},
        {"group_rate": "1/s"},
    ]
    queues = [shop.queue(f"queue-{number}", **limit) for number, limit in enumerate(limits * 2)]
    for queue in queues:
        queue.add("later", delay="1h")
    hand.claim(*queues)

    with django_assert_max_num_queries(3) as asked:
        claimed = hand.claim(*queues)

    assert sum("on conflict" not in one["sql"] for one in asked.captured_queries) <= 2  # but for the hand's own
    assert (claimed.held, claimed.next_due) == ([], us(after(hours=1)))
