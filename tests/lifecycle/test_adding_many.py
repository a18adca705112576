"""add_many: many jobs at once, but those whose ids are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.byhand import MICROSECOND, NOON, Hand, after
from tests.lifecycle.lists import alone_and_inside_atomic
from tests.project.models import Order
from tinystore_django import InvalidError, LimitError, Queue, Store, models
from tinystore_django.databases import postgresql_bulk
from tinystore_django.lifecycle import adding_many
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
MEBIBYTE = 1024 * 1024


def added(queue: Queue[Any]) -> list[tuple[str | None, Any]]:
    """The id and value of each of its jobs, in the order that they would start in."""
    rows = models.Job.objects.filter(queue=queue.name, released=False).order_by("at", "id")
    codec = queue._declaration.codec
    return [(row.key, codec.read(row.value)) for row in rows]


# What it adds.


def test_jobs_start_in_the_order_of_their_values(emails: Queue[Any]) -> None:
    assert emails.add_many("dbca") == 4
    assert emails.add_many("fe", id=lambda value: value) == 2

    assert [value for _, value in added(emails)] == list("dbcafe")


def test_any_iterable_of_values_will_do_and_none_at_all(emails: Queue[Any]) -> None:
    assert emails.add_many(number for number in range(3)) == 3
    assert emails.add_many({"a": 1}) == 1
    assert emails.add_many([]) == 0
    assert emails.add_many(iter(()), id=str) == 0

    assert [value for _, value in added(emails)] == [0, 1, 2, "a"]


def test_ids_and_groups_are_functions_of_the_value(emails: Queue[Any]) -> None:
    emails.add_many([1, 2, 3], id=lambda n: f"n:{n}" if n < 3 else None, group=lambda n: f"g{n % 2}" if n > 1 else None)

    rows = models.Job.objects.order_by("id").values_list("key", "group")
    assert list(rows) == [("n:1", None), ("n:2", "g0"), (None, "g1")]


def test_groups_without_ids_are_kept_too(emails: Queue[Any]) -> None:
    emails.add_many(["ä\t\n\\", "🐍"], group=lambda value: value)

    assert [(job.value, job.group) for job in emails.list().jobs] == [("ä\t\n\\", "ä\t\n\\"), ("🐍", "🐍")]


@pytest.mark.parametrize("id", [None, lambda value: value], ids=["without ids", "with ids"])
@pytest.mark.parametrize(
    "value",
    ["tab\there", "new\nline", "\\N", "\\.", "back\\slash", 'quo"te', "it's", "%s %(a)s", "é🐍", "\x7f", "{a,b}"],
)
def test_what_a_database_might_take_for_its_own_signs_is_kept_as_it_is(value: str, id: Any, emails: Queue[Any]) -> None:
    emails.add_many([value, value + "2"], id=id)

    assert added(emails) == [(id and value, value), (id and value + "2", value + "2")]


def test_an_added_job_is_as_one_that_add_adds(emails: Queue[Any], clock: Clock) -> None:
    for id in ("x", None):
        emails.add("a", id=id, group="g", delay="1h")
        emails.add_many(["b"], id=(lambda value: "y") if id else None, group=lambda value: "g", delay="1h")

    rows = [{**row, "id": 0, "key": row["key"] and "", "value": ""} for row in models.Job.objects.values()]
    assert rows[0] == rows[1] != rows[2] == rows[3]


@pytest.mark.parametrize(
    ("when", "at"),
    [
        ({}, NOON),
        ({"delay": "1h"}, after(hours=1)),
        ({"delay": timedelta(microseconds=1)}, NOON + MICROSECOND),
        ({"at": after(days=-1)}, after(days=-1)),
        ({"at": after(days=1, microseconds=7)}, after(days=1, microseconds=7)),
    ],
)
@pytest.mark.parametrize("id", [None, str], ids=["without ids", "with ids"])
def test_all_are_due_at_one_time(when: Any, at: datetime, id: Any, emails: Queue[Any]) -> None:
    emails.add_many(range(3), id=id, **when)

    assert list(models.Job.objects.values_list("at", "due")) == [(at, at)] * 3


@pytest.mark.django_db(transaction=True)
def test_without_a_test_clock_all_are_due_at_the_databases_now(shop: Store) -> None:
    queue = shop.queue("now")
    queue.add("before")
    queue.add_many(range(adding_many.MOST + 1))
    queue.add("behind")

    times = list(models.Job.objects.order_by("id").values_list("at", flat=True))
    assert times[0] < times[1] == times[-2] < times[-1]


# Ids that are taken.


@pytest.fixture
def taken(emails: Queue[Any], hand: Hand) -> Queue[Any]:
    """A queue whose ids are taken in every way: w waits, s is scheduled, r runs, f failed, d is done."""
    for id in "frd":
        emails.add("old", id=id)
    failed, _, done = hand.take(emails, 3)
    hand.end(failed, "failed", "no luck")
    hand.end(done)
    emails.add("old", id="w")
    emails.add("old", id="s", delay="1h")
    return emails


def test_ids_that_are_taken_are_skipped_and_not_counted(taken: Queue[Any]) -> None:
    before = {row["key"]: row for row in models.Job.objects.values()}

    assert taken.add_many("awsrfdb", id=lambda value: value) == 2

    rows = {row["key"]: row for row in models.Job.objects.values()}
    assert set(rows) == set("awsrfdb")
    assert {key: rows[key] for key in before} == before


def test_ids_repeated_within_it_count_once_and_the_first_is_added(emails: Queue[Any]) -> None:
    assert emails.add_many(["a1", "b1", "a2", "a3", "b2"], id=lambda value: value[0]) == 2

    assert added(emails) == [("a", "a1"), ("b", "b1")]


def test_ids_repeated_in_another_statement_count_once_too(emails: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_many, "MOST", 2)

    assert emails.add_many(["a1", "b1", "a2", "c1", "b2"], id=lambda value: value[0]) == 3


def test_ids_past_their_keep_are_free_from_that_instant(taken: Queue[Any], clock: Clock) -> None:
    clock.set(after(hours=1) - MICROSECOND)
    before = taken.add_many("d", id=lambda value: value)
    clock.set(after(hours=1))
    done = taken.add_many("fd", id=lambda value: value)
    clock.set(after(days=7))

    assert (before, done) == (0, 1)
    assert taken.add_many("fdwr", id=lambda value: value) == 1
    assert taken.get("f").value == "f"  # type: ignore[union-attr]


def test_jobs_without_ids_are_added_once_though_ids_beside_them_are_freed(taken: Queue[Any], clock: Clock) -> None:
    clock.advance("1h")

    count = taken.add_many(["d", "w", "none"], id=lambda value: value if value != "none" else None)

    assert count == 2
    assert [job.value for job in taken.all() if job.id is None] == ["none"]


@pytest.mark.postgresql
def test_an_id_that_is_taken_between_the_look_and_the_copy_is_skipped(
    taken: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_bulk, "_are_free", lambda store, queue, keys: True)

    assert taken.add_many("awsrfdb", id=lambda value: value) == 2
    assert taken.get("w").value == "old"  # type: ignore[union-attr]


def test_the_id_of_a_cancelled_job_that_still_runs_is_free(taken: Queue[Any]) -> None:
    taken.cancel("r")

    assert taken.add_many("r", id=lambda value: value) == 1


def test_ids_are_a_queues_own(taken: Queue[Any], shop: Store) -> None:
    assert shop.queue("other").add_many("wsrfd", id=lambda value: value) == 5


# Its transaction.


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("id", [None, str], ids=["without ids", "with ids"])
def test_it_commits_with_the_open_transaction_or_not_at_all(id: Any, emails: Queue[Any]) -> None:
    with transaction.atomic():
        Order.objects.create(email="ada")
        assert emails.add_many(range(3), id=id) == 3
        transaction.set_rollback(True)
    rolled_back = (Order.objects.count(), emails.list().jobs)
    with transaction.atomic():
        Order.objects.create(email="ada")
        assert emails.in_(transaction).add_many(range(3), id=id) == 3

    assert rolled_back == (0, [])
    assert (Order.objects.count(), len(emails.list().jobs)) == (1, 3)


@pytest.mark.django_db(transaction=True)
def test_a_savepoint_that_is_rolled_back_takes_its_jobs_along(emails: Queue[Any]) -> None:
    with transaction.atomic():
        emails.add_many("ab", id=lambda value: value)
        with transaction.atomic():
            assert emails.add_many("bcd", id=lambda value: value) == 2
            transaction.set_rollback(True)

    assert [job.id for job in emails.all()] == ["a", "b"]


@pytest.mark.django_db(transaction=True)
def test_all_statements_of_a_call_are_one_transaction(emails: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_many, "MOST", 2)
    calls: list[int] = []
    insert = adding_many._insert

    def fail_at_third(alias: str, batch: Any) -> int:
        calls.append(len(batch.jobs))
        if len(calls) == 3:
            raise RuntimeError
        return insert(alias, batch)

    monkeypatch.setattr(adding_many, "_insert", fail_at_third)
    with pytest.raises(RuntimeError):
        emails.add_many(range(6))

    assert (calls, models.Job.objects.count()) == ([2, 2, 2], 0)


# What it refuses.


def ids_of(value: Any) -> Callable[[Any], Any]:
    return lambda each: value if each == "second" else each


@pytest.mark.parametrize(
    ("about", "error", "says"),
    [
        ({"id": ids_of("")}, InvalidError, "^id ''"),
        ({"id": ids_of("a\0")}, InvalidError, "^id .*take out U.0000"),
        ({"id": ids_of("\ud800")}, InvalidError, "^id .*surrogate"),
        ({"id": ids_of("x" * 1025)}, InvalidError, "^id .*1 to 1,024 bytes"),
        ({"id": ids_of(7)}, InvalidError, "^id 7"),
        ({"group": ids_of("")}, InvalidError, "^group ''"),
        ({"group": ids_of(7)}, InvalidError, "^group 7"),
        ({"at": NOON, "delay": "1s"}, InvalidError, "give one of them"),
        ({"at": datetime(2026, 3, 1)}, InvalidError, "has no time zone"),
        ({"delay": 5}, InvalidError, "delay 5"),
        ({"delay": "-5s"}, InvalidError, "delay '-5s'"),
        ({"delay": timedelta.max}, InvalidError, "within the year 9999"),
    ],
)
def test_a_bad_argument_is_refused_before_anything_is_added(
    about: Any, error: type[Exception], says: str, emails: Queue[Any]
) -> None:
    with transaction.atomic():
        with pytest.raises(error, match=says):
            emails.add_many(["first", "second"], **about)
        assert emails.list().jobs == []
        emails.add("still usable")


def test_bad_timing_is_refused_though_there_is_nothing_to_add(emails: Queue[Any]) -> None:
    with pytest.raises(InvalidError):
        emails.add_many([], delay="5 s")


@pytest.mark.parametrize(
    ("value", "error"),
    [(float("nan"), InvalidError), ("a\0", InvalidError), (Order(), InvalidError), ("x" * MEBIBYTE, LimitError)],
)
def test_a_bad_value_among_good_ones_is_refused_before_any_is_added(
    value: Any, error: type[Exception], emails: Queue[Any]
) -> None:
    with transaction.atomic():
        with pytest.raises(error, match="^value"):
            emails.add_many(["good", value, "good"])
        assert not models.Job.objects.exists()


def test_an_error_of_the_values_or_of_the_id_function_is_the_callers_own(emails: Queue[Any]) -> None:
    def values() -> Iterator[int]:
        yield 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        emails.add_many(values())
    with pytest.raises(ZeroDivisionError):
        emails.add_many([1, 0], id=lambda number: str(1 / number))

    assert not models.Job.objects.exists()


# max_waiting.


@pytest.fixture
def small(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue for five jobs, which has two: one waiting, one scheduled."""
    queue = shop.queue("small", max_waiting=5)
    queue.add("a", id="a")
    queue.add("b", id="b", delay="1h")
    return queue


@alone_and_inside_atomic
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("id", [None, lambda value: value], ids=["without ids", "with ids"])
def test_more_than_there_is_room_for_is_refused_whole_and_breaks_no_transaction(
    id: Any, small: Queue[Any], block: Callable[[], AbstractContextManager[Any]]
) -> None:
    with block():
        with pytest.raises(LimitError, match="holds 5 jobs that have not started"):
            small.add_many("cdef", id=id)
        assert [job.id for job in small.list().jobs] == ["a", "b"]
        assert small.add_many("cde", id=id) == 3

    assert models.Job.objects.count() == 5


def test_ids_that_are_taken_or_repeated_need_no_room(small: Queue[Any]) -> None:
    assert small.add_many("abcaddeecb", id=lambda value: value) == 3
    assert small.add_many("abcde", id=lambda value: value) == 0
    with pytest.raises(LimitError):
        small.add_many("abcdef", id=lambda value: value)

    assert models.Job.objects.count() == 5


def test_jobs_that_run_leave_room_for_many(small: Queue[Any], hand: Hand) -> None:
    hand.take_one(small)

    assert small.add_many("cdef") == 4


def test_an_id_that_a_refused_call_would_have_taken_over_keeps_its_job(shop: Store, hand: Hand, clock: Clock) -> None:
    queue = shop.queue("small", max_waiting=1, keep="1h")
    queue.add("a", id="a")
    hand.end(hand.take_one(queue), "failed", "no luck")
    clock.advance("1h")
    with pytest.raises(LimitError):
        queue.add_many("ab", id=lambda value: value)

    assert not models.Job.objects.get().released


# Many.


@pytest.mark.parametrize("id", [None, str], ids=["without ids", "with ids"])
def test_twenty_thousand_are_added_in_a_handful_of_statements(id: Any, emails: Queue[Any]) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert emails.add_many(range(20_000), id=id) == 20_000

    assert len(queries) < 30
    assert [value for _, value in added(emails)] == list(range(20_000))


@pytest.mark.parametrize("id", [None, lambda value: value[:2]], ids=["without ids", "with ids"])
def test_long_values_are_added_in_statements_that_a_database_takes(id: Any, emails: Queue[Any]) -> None:
    values = [f"{number}" + "x" * 900_000 for number in range(10, 30)]
    with CaptureQueriesContext(connection) as queries:
        assert emails.add_many(values, id=id) == 20

    assert max(len(one["sql"]) for one in queries) < 12_000_000
    assert [job.value[:2] for job in emails.all()] == [str(number) for number in range(10, 30)]


# Its twin.


def test_the_twin_adds_the_same(emails: Queue[Any]) -> None:
    async def add() -> int:
        return await emails.aadd_many("aab", id=lambda value: value, delay="1h")

    assert async_to_sync(add)() == 2
    assert [(job.id, job.at) for job in emails.all()] == [("a", after(hours=1)), ("b", after(hours=1))]


@pytest.mark.parametrize("wrong", [{"values": 5}, {"values": ["a"], "id": "x"}, {"values": ["a"], "group": 3}])
def test_what_cannot_be_gone_through_or_called_is_invalid(wrong: dict[str, Any], emails: Queue[Any]) -> None:
    with pytest.raises(InvalidError, match="give a"):
        emails.add_many(**wrong)
