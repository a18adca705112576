"""What the store may rely on, whatever the database: one suite over the seam, run on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.byhand import NOON, Hand, RolledBack, us
from tinystore_django import InvalidError, models
from tinystore_django.databases import VENDORS, database
from tinystore_django.databases.base import Database
from tinystore_django.databases.listening import ANY
from tinystore_django.databases.rows import Fence, Held, NewJob, Settled
from tinystore_django.testing import Clock
from tinystore_django.timing import clock as process_clock

pytestmark = pytest.mark.django_db

State = models.Job.State
T = us(NOON)
S = 1_000_000
# What others may write on the row of a running job.
MEANWHILE: list[dict[str, Any]] = [{"next_at": T}, {"repeat": "@every 1h +0ms"}, {"cancelled": True}]


@pytest.fixture
def store(clock: Clock) -> Database:
    return database("default")


def new(key: str | None = None, queue: str = "q", **about: Any) -> NewJob:
    return NewJob(queue, "1", key, **about)


def take(store: Database, lease: int = 1, **wanted: int) -> list[Held]:
    return store.claim(lease, wanted or {"q": 10}).held


def retried(held: Held, **about: Any) -> Settled:
    row = Settled(held.fence, None, held.repeat, State.READY, held.attempt, T, T, held.group, "no luck", "trace")
    return replace(row, **about)


def the_row() -> dict[str, Any]:
    return models.Job.objects.values().get()


# insert


def test_an_insert_says_whether_it_added_the_job(store: Database) -> None:
    assert (store.insert(new("x")), store.insert(new("x"))) == (True, False)
    assert models.Job.objects.count() == 1


def test_any_number_of_jobs_have_no_id(store: Database) -> None:
    assert (store.insert(new()), store.insert(new())) == (True, True)
    assert models.Job.objects.count() == 2


def test_an_insert_adds_nothing_where_as_many_wait_as_may(store: Database) -> None:
    store.insert(new("x", at=T + 1))
    store.insert(new("aside", group="g", heads=0))
    states = models.Job.objects.order_by("id").values_list("state", flat=True)

    assert list(states) == [State.READY, State.ASIDE]
    assert [store.insert(new(max_waiting=most)) for most in (2, 3, 3)] == [False, True, False]
    assert store.insert(new(queue="other", max_waiting=1)) is True


def test_an_insert_that_is_refused_breaks_no_transaction(store: Database) -> None:
    store.insert(new("x"))
    with transaction.atomic():
        store.insert(new("x"))
        assert store.insert(new("y"))


def test_an_insert_keeps_what_it_is_given(store: Database) -> None:
    store.insert(new("x", at=T + 7, group="g", repeat="@every 1h +0ms"))

    row = models.Job.objects.get()
    assert (row.queue, row.key, row.value, row.group, row.repeat) == ("q", "x", "1", "g", "@every 1h +0ms")
    assert us(row.at) == us(row.due) == T + 7  # type: ignore[arg-type]
    assert (row.state, row.attempt, row.run, row.lease, row.cancelled, row.released) == (0, 0, 0, None, False, False)


def test_an_insert_without_a_time_is_due_a_delay_after_the_databases_now(store: Database) -> None:
    store.insert(new("x", delay=5 * S))

    assert us(the_row()["at"]) == us(the_row()["due"]) == T + 5 * S


def test_ids_are_compared_byte_by_byte(store: Database) -> None:
    for key in ("a", "A", "á", "a ", "%", "_"):
        assert store.insert(new(key))

    ordered = models.Job.objects.order_by("key").values_list("key", flat=True)
    assert list(ordered) == ["%", "A", "_", "a", "a ", "á"]


# now


def test_now_is_the_test_clocks_while_one_is_set(store: Database, clock: Clock) -> None:
    clock.advance("1h")
    store.insert(new())

    annotated = models.Job.objects.annotate(now=store.now_expression()).get()

    assert store.now() == annotated.now == T + 3600 * S  # type: ignore[attr-defined]


def test_now_moves_with_real_time_otherwise(transactional_db: None) -> None:
    store = database("default")
    process_clock.set_frozen(None)

    before, after = store.now(), store.now()

    assert before <= after
    assert abs(after - process_clock.now()) < 60 * S


# claim


def test_a_claim_takes_the_earliest_first_and_ties_in_order_of_insertion(store: Database) -> None:
    keys = {"c": T, "a": T, "b": T, "past": T - 1, "future": T + 1}
    for key, at in keys.items():
        store.insert(new(key, at=at))

    assert [held.key for held in take(store, q=3)] == ["past", "c", "a"]
    assert [held.key for held in take(store, q=3)] == ["b"]
    assert take(store, q=3) == []


def test_a_claim_takes_of_each_queue_what_is_wanted_of_it(store: Database) -> None:
    for queue in ("p", "q", "r"):
        for _ in range(3):
            store.insert(new(queue=queue, at=T))

    taken = take(store, p=2, q=1, r=0)

    assert [held.queue for held in taken] == ["p", "p", "q"]


def test_what_a_claim_took_is_in_the_order_to_start_it_across_queues(store: Database) -> None:
    for key, queue, at in [("b", "q", T - 1), ("a", "p", T - 2), ("d", "p", T), ("c", "q", T - 1)]:
        store.insert(new(key, queue, at=at))

    assert [held.key for held in take(store, p=5, q=5)] == ["a", "b", "c", "d"]


def test_what_a_claim_took_is_the_whole_job(store: Database) -> None:
    store.insert(new("x", at=T - 5, group="g", repeat="@every 1h +0ms"))
    key = the_row()["id"]
    (held,) = take(store, 7)

    assert held == Held(key, 1, 7, "q", "x", "1", T - 5, 1, "g", "@every 1h +0ms", T, waited=5)


def test_a_claim_says_when_the_next_job_of_its_queues_is_due(store: Database) -> None:
    nothing = store.claim(1, {"q": 1})
    store.insert(new(at=T + 9))
    store.insert(new(at=T + 5))
    store.insert(new(queue="other", at=T + 1))
    future = store.claim(1, {"q": 1})
    store.insert(new(at=T))
    some = store.claim(1, {"q": 1})

    assert [(one.now, len(one.held), one.next_due) for one in (nothing, future, some)] == [
        (T, 0, None),
        (T, 0, T + 5),
        (T, 1, T + 5),
    ]


@pytest.mark.parametrize("state", [State.RUNNING, State.FAILED, State.DONE, State.ASIDE])
def test_only_a_job_that_is_ready_is_claimed(state: State, store: Database) -> None:
    store.insert(new(at=T))
    models.Job.objects.update(state=state)

    assert take(store) == []


def test_a_claim_removes_the_ended_runs_it_is_given_and_says_which(store: Database) -> None:
    for key in "abc":
        store.insert(new(key, at=T))
    first, second = take(store, q=2)

    claimed = store.claim(1, {"q": 5}, [first.fence, second.fence, (10**9, 1, 1)])

    assert claimed.removed == {first.fence, second.fence}
    assert [held.key for held in claimed.held] == ["c"]
    assert not models.Job.objects.filter(key__in="ab").exists()


@pytest.mark.parametrize("totals", [{}, {"q": 9}])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_claim_takes_nothing_before_an_ended_run_whose_row_somebody_changed(
    meanwhile: dict[str, Any], store: Database, totals: dict[str, int]
) -> None:
    for key in "abc":
        store.insert(new(key, at=T))
    store.limits.open(totals)
    first, second = take(store, q=2)
    models.Job.objects.filter(pk=second.id).update(**meanwhile)

    claimed = store.claim(1, {"q": 5}, [first.fence, second.fence], totals)

    assert (claimed.removed, claimed.held) == ({first.fence}, [])
    assert [held.key for held in store.claim(1, {"q": 5}, [], totals).held] == ["c"]


# remove and settle


@pytest.mark.parametrize("wrong", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_only_the_jobs_own_run_is_removed_or_settled(wrong: Fence, store: Database) -> None:
    store.insert(new("x", at=T))
    (held,) = take(store)
    stale = (held.id + wrong[0], held.run + wrong[1], held.lease + wrong[2])

    assert store.remove([stale]) == set()
    assert store.settle([retried(held, fence=stale)]) == set()
    assert the_row()["state"] == State.RUNNING


def test_many_runs_are_removed_at_once(store: Database) -> None:
    for _ in range(5):
        store.insert(new(at=T))
    fences = [held.fence for held in take(store)]

    assert store.remove([*fences[:4], (10**9, 1, 1)]) == set(fences[:4])
    assert models.Job.objects.count() == 1


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_job_that_somebody_changed_while_it_ran_is_not_removed(meanwhile: dict[str, Any], store: Database) -> None:
    store.insert(new(at=T))
    (held,) = take(store)
    models.Job.objects.update(**meanwhile)

    assert store.remove([held.fence]) == set()
    assert models.Job.objects.count() == 1


def test_only_cancelled_jobs_are_removed_as_such_whatever_else_was_written(store: Database) -> None:
    for _ in range(2):
        store.insert(new(at=T))
    going_on, cancelled = take(store)
    stale = (cancelled.id, cancelled.run + 1, cancelled.lease)
    models.Job.objects.filter(pk=cancelled.id).update(next_at=T, repeat="@every 1h +0ms", cancelled=True)

    assert store.remove_cancelled([going_on.fence, stale]) == set()
    assert store.remove_cancelled([going_on.fence, cancelled.fence]) == {cancelled.fence}
    assert models.Job.objects.get().pk == going_on.id


def test_a_settle_writes_its_row_and_clears_the_run(store: Database) -> None:
    store.insert(new("x", at=T, group="g"))
    (held,) = take(store)
    written = {
        "state": State.FAILED, "attempt": 4, "group": "h", "released": True, "error": "é\n🐍", "traceback": "trace",
    }  # fmt: skip
    times = {"at": 1, "due": 2, "ended_at": 3, "until": 4, "kept_until": 5, "last_started_at": 6, "last_ended_at": 7}

    assert store.settle([retried(held, **written, **times)]) == {held.fence}
    row = the_row()
    assert {name: row[name] for name in written} == written
    assert {name: us(row[name]) for name in times} == times
    assert [row[name] for name in ("lease", "started_at", "next_at", "next_group")] == [None] * 4
    assert (row["run"], row["key"], row["value"]) == (1, "x", "1")


def test_a_settle_leaves_the_time_error_and_last_run_it_says_nothing_of(store: Database) -> None:
    store.insert(new(at=T))
    (held,) = take(store)
    models.Job.objects.update(error="of before", traceback="of before", last_started_at=1, last_ended_at=2)

    store.settle([retried(held, at=None, keep_error=True)])

    row = the_row()
    assert (us(row["at"]), row["error"], row["traceback"]) == (T, "of before", "of before")
    assert (us(row["last_started_at"]), us(row["last_ended_at"])) == (1, 2)


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_settle_takes_no_effect_on_a_row_changed_since_it_was_seen(meanwhile: Any, store: Database) -> None:
    store.insert(new(at=T))
    (held,) = take(store)
    models.Job.objects.update(**meanwhile)

    assert store.settle([retried(held)]) == set()
    assert the_row()["state"] == State.RUNNING


def test_a_settle_that_saw_the_change_takes_effect(store: Database) -> None:
    store.insert(new(at=T))
    (held,) = take(store)
    models.Job.objects.update(next_at=T + 3, repeat="@every 1h +0ms")

    assert store.settle([retried(held, seen_next=T + 3, seen_repeat="@every 1h +0ms")]) == {held.fence}


def test_many_runs_are_settled_at_once(store: Database) -> None:
    for key in "abc":
        store.insert(new(key, at=T))
    a, b, c = take(store)

    settled = store.settle([retried(a, error="a"), retried(b, error="b"), retried(c, fence=(10**9, 1, 1))])

    assert settled == {a.fence, b.fence}
    assert list(models.Job.objects.order_by("key").values_list("error", flat=True)) == ["a", "b", None]


def test_nothing_to_settle_or_remove_is_nothing_done(store: Database) -> None:
    assert (store.settle([]), store.remove([])) == (set(), set())


# clear, renew


def test_clear_deletes_the_rows_past_their_keep_the_oldest_first(store: Database) -> None:
    for key, until in {"b": T - 1, "a": T - 2, "now": T, "later": T + 1, "none": None}.items():
        store.insert(new(key))
        models.Job.objects.filter(key=key).update(kept_until=until)

    assert store.clear(1, 0) == 1
    assert not models.Job.objects.filter(key="a").exists()
    assert (store.clear(10, 0), store.clear(10, 0)) == (2, 0)
    assert set(models.Job.objects.values_list("key", flat=True)) == {"later", "none"}


def test_a_renewal_moves_its_own_lease_alone(store: Database, hand: Hand) -> None:
    other = Hand()

    renewal = store.renew(hand.lease, 60 * S)

    assert renewal is not None
    assert (renewal.now, renewal.next_expiry) == (T, T + 30 * S)
    expiries = dict(models.Lease.objects.values_list("pk", "expires_at"))
    assert {pk: us(at) for pk, at in expiries.items()} == {hand.lease: T + 60 * S, other.lease: T + 30 * S}
    assert store.renew(10**9, S) is None


# transactions


@pytest.mark.django_db(transaction=True)
def test_a_transaction_is_the_open_one_or_a_new_one() -> None:
    store = database("default")

    assert not store.in_transaction()
    for begin in (store.transaction, store.own_transaction):
        with begin():
            assert store.in_transaction()
        assert not store.in_transaction()
        with transaction.atomic(), CaptureQueriesContext(connection) as queries, begin():
            assert store.in_transaction()
        assert [query for query in queries if "SAVEPOINT" in query["sql"].upper()] == []


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_raises_is_rolled_back(store: Database) -> None:
    for begin in (store.transaction, store.own_transaction):
        with suppress(RolledBack), begin():
            store.insert(new("x"))
            raise RolledBack

    assert not models.Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_transactions_managed_by_hand_count_as_open(store: Database) -> None:
    transaction.set_autocommit(False)
    try:
        assert store.in_transaction()
        store.insert(new("x"))
        transaction.rollback()
    finally:
        transaction.set_autocommit(True)

    assert not models.Job.objects.exists()


# listening, connections


@pytest.mark.django_db(transaction=True)
def test_a_listener_hears_of_what_is_told() -> None:
    store = database("default")
    listener = store.listener(notify=True)
    assert listener is not None
    try:
        while listener.wait(0.2):
            pass  # what earlier tests said
        store.insert(new())
        store.tell("q")

        assert listener.wait(20) in ({"q"}, {ANY})
    finally:
        listener.close()


@pytest.mark.django_db(transaction=True)
def test_a_connection_is_alive_and_clean_until_it_is_closed_or_in_a_transaction() -> None:
    store = database("default")
    connection.ensure_connection()
    fresh = (store.is_alive(), store.is_clean())
    with transaction.atomic():
        store.insert(new())
        inside = (store.is_alive(), store.is_clean())
    connection.connection.close()
    closed = (store.is_alive(), store.is_clean())
    connection.close()

    assert (fresh, inside, closed) == ((True, True), (True, False), (False, False))


@pytest.fixture
def mariadb(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    database.cache_clear()
    monkeypatch.setattr(connection, "vendor", "mariadb", raising=False)
    yield
    database.cache_clear()


def test_a_database_that_holds_no_queue_is_refused_by_name(mariadb: None) -> None:
    with pytest.raises(InvalidError, match="database 'default' is mariadb: queues live in postgresql or sqlite"):
        database("default")

    assert set(VENDORS) == {"postgresql", "sqlite"}


def test_a_test_may_show_the_statements_under_debug(store: Database, settings: Any) -> None:
    settings.DEBUG = True
    store.insert(new(at=T))
    (held,) = take(store)

    assert store.settle([retried(held)]) == {held.fence}
    (held,) = take(store)
    assert store.remove([held.fence]) == {held.fence}
