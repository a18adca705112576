"""list and all: how the pages join, and how long they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.byhand import Hand
from tests.lifecycle.lists import IN_ORDER, add_all, alone_and_inside_atomic, ids, pages
from tinystore_django import InvalidError, JobPage, Queue, models

pytestmark = pytest.mark.django_db
MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9, 10, 11])
def test_pages_over_everything_lose_and_repeat_nothing(limit: int, emails: Queue[Any]) -> None:
    for number in range(10):
        emails.add(number, id=str(number) if number % 2 else None)

    found = list(pages(emails, limit=limit))

    assert [job.value for page in found for job in page.jobs] == [1, 3, 5, 7, 9, 0, 2, 4, 6, 8]
    assert all(len(page.jobs) == limit for page in found[:-1])
    assert all(page.jobs for page in found)


def test_all_goes_over_every_page(emails: Queue[Any]) -> None:
    emails.add_many(range(250), id=lambda number: f"{number:03}" if number < 120 else None)

    assert [job.value for job in emails.all()] == list(range(250))


def test_a_page_is_of_a_hundred_unless_it_says_otherwise(emails: Queue[Any]) -> None:
    emails.add_many(range(1_001))

    assert [len(page.jobs) for page in (emails.list(), emails.list(limit=1_000))] == [100, 1_000]


def test_the_last_page_has_no_next(emails: Queue[Any]) -> None:
    add_all(emails, ["a", "b"])

    assert (emails.list(limit=2).next, emails.list(limit=1).next) == (None, "a")
    assert emails.list(after="b") == JobPage([], None)


def test_a_state_filters_before_the_limit_so_pages_are_full(emails: Queue[Any]) -> None:
    for number in range(30):
        emails.add(number, id=f"{number:02}", delay="1h" if number % 3 else None)

    found = list(pages(emails, state="waiting", limit=4))

    assert [len(page.jobs) for page in found] == [4, 4, 2]
    assert [job.value for page in found for job in page.jobs] == list(range(0, 30, 3))


def test_what_changes_between_two_pages_neither_hides_nor_repeats_the_rest(emails: Queue[Any]) -> None:
    add_all(emails, list("bdfhj"))
    first = emails.list(limit=2)

    emails.cancel("d")
    emails.cancel("f")
    add_all(emails, ["a", "g"])

    assert (ids(first), ids(emails.list(after=first.next))) == (["b", "d"], ["g", "h", "j"])


def test_a_job_that_goes_while_its_page_is_read_is_left_out(emails: Queue[Any]) -> None:
    add_all(emails, ["a", "b", "c"], "x" * 100_000)

    def take_away(execute: Any, sql: str, *arguments: Any) -> Any:
        if '."id" IN (' in sql:  # the second look, at long values
            models.Job.objects.filter(key="b").delete()
        return execute(sql, *arguments)

    with connection.execute_wrapper(take_away):
        page = emails.list()

    assert (ids(page), models.Job.objects.count()) == (["a", "c"], 2)


# The size of a page.


def test_the_values_of_a_page_have_four_mebibytes_at_most(emails: Queue[Any]) -> None:
    emails.add_many([f"{number}" + "x" * (MEBIBYTE - 10) for number in range(9)], id=lambda value: value[0])

    found = list(pages(emails))

    assert [len(page.jobs) for page in found] == [4, 4, 1]
    assert [id for page in found for id in ids(page)] == list("012345678")
    assert [job.value[0] for page in found for job in page.jobs] == list("012345678")


def test_four_mebibytes_exactly_fit_on_one_page_and_a_byte_more_does_not(emails: Queue[Any]) -> None:
    emails.add_many(["x" * (MEBIBYTE - 2) for _ in range(4)])
    full = emails.list()
    emails.add("", id="a")

    assert (len(full.jobs), full.next) == (4, None)
    assert [len(page.jobs) for page in pages(emails)] == [4, 1]


def test_the_size_of_a_page_counts_bytes_not_characters(emails: Queue[Any]) -> None:
    emails.add_many(["é" * 500_000] * 8)

    assert [len(page.jobs) for page in pages(emails)] == [4, 4]


def test_long_values_and_short_ones_come_on_one_page_in_their_order(emails: Queue[Any]) -> None:
    values = ["short", "x" * 200_000, "", "y" * 50_000, "é" * 100_000, "last"]
    for number, value in enumerate(values):
        emails.add(value, id=str(number))

    assert [job.value for job in emails.list().jobs] == values


def test_a_page_of_failed_jobs_without_ids_is_cut_too(emails: Queue[Any], hand: Hand) -> None:
    emails.add_many([f"{number}" + "x" * (MEBIBYTE - 10) for number in range(5)])
    for held in hand.take(emails, 5):
        hand.end(held, "failed", "no luck")

    found = list(pages(emails, state="failed"))

    assert [[job.value[0] for job in page.jobs] for page in found] == [list("4321"), ["0"]]


def test_a_page_of_short_values_is_one_look(emails: Queue[Any]) -> None:
    add_all(emails, [f"{number:03}" for number in range(150)])

    with CaptureQueriesContext(connection) as queries:
        emails.list(prefix="0")

    assert len([one for one in queries if "tinystore_django_job" in one["sql"]]) == 1


# after.


@pytest.mark.parametrize(
    "place",
    ["", "!", "b", "bb", "zz", "É", "\U0010ffff", "\U0010ffffz", "x" * 5_000,
     "b\0", "b\0c", "\ud7ff", "\ud800", "b\udfff", "a\ud800\0"],
)  # fmt: skip
def test_in_the_order_of_ids_any_text_may_be_where_a_page_begins(place: str, emails: Queue[Any]) -> None:
    add_all(emails, IN_ORDER)

    expected = sorted((id for id in IN_ORDER if to_bytes(id) > to_bytes(place)), key=str.encode)

    assert ids(emails.list(after=place)) == expected
    assert ids(emails.list(after=place, prefix="b")) == [id for id in expected if id.startswith("b")]


def to_bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def test_a_page_that_goes_on_among_jobs_without_ids_begins_at_what_can_be_no_id(emails: Queue[Any]) -> None:
    emails.add_many(range(3))
    place = emails.list(limit=1).next

    assert place is not None
    with pytest.raises(InvalidError):
        emails.add("a", id=place)
    assert [job.value for job in emails.list(after=place).jobs] == [1, 2]


def test_jobs_with_ids_added_meanwhile_do_not_come_back_among_those_without(emails: Queue[Any]) -> None:
    emails.add_many(range(3))
    place = emails.list(limit=1).next
    emails.add("late", id="x")

    assert [job.value for job in emails.list(after=place).jobs] == [1, 2]


# What it refuses.


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"limit": 0}, "limit 0"),
        ({"limit": -1}, "limit -1"),
        ({"limit": 1_001}, "limit 1001: give a whole number from 1 to 1,000"),
        ({"limit": 1.0}, "limit 1.0"),
        ({"limit": True}, "limit True"),
        ({"limit": None}, "limit None"),
        ({"limit": "10"}, "limit '10'"),
        ({"state": "done"}, "state 'done': give one of scheduled, waiting, running, failed"),
        ({"state": "cancelled"}, "state 'cancelled'"),
        ({"state": "Failed"}, "state 'Failed'"),
        ({"state": ""}, "state ''"),
        ({"state": 2}, "state 2"),
        ({"state": ["failed"]}, "state .'failed'."),
        ({"prefix": 4}, "prefix 4: give a text"),
        ({"prefix": b"a"}, "prefix b'a'"),
        ({"after": 4}, "after 4"),
        ({"after": "\0"}, "give the `next` of a page"),
        ({"after": "\0x"}, "give the `next` of a page"),
        ({"after": "\0" + "1\n"}, "give the `next` of a page"),
        ({"after": "\0" + "-1"}, "give the `next` of a page"),
        ({"after": "\0" + "1" * 20}, "give the `next` of a page"),
        ({"after": "\0" + "\u0665"}, "give the `next` of a page"),
        ({"after": "a", "state": "failed"}, "give the `next` of a page of failed jobs"),
        ({"after": "\0" + "1", "state": "failed"}, "give the `next` of a page of failed jobs"),
        ({"after": "\0" + "1 2"}, "give the `next` of a page"),
    ],
)
@alone_and_inside_atomic
@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_asked_for_is_refused_and_breaks_no_transaction(
    asked: dict[str, Any], says: str, emails: Queue[Any], block: Callable[[], AbstractContextManager[Any]]
) -> None:
    with block():
        with pytest.raises(InvalidError, match=says):
            emails.list(**asked)
        emails.add("a", id="x")

    assert ids(emails.list()) == ["x"]


@pytest.mark.parametrize("asked", [{"state": "done"}, {"prefix": 4}])
def test_all_refuses_at_the_call_what_it_cannot_list(asked: dict[str, Any], emails: Queue[Any]) -> None:
    with pytest.raises(InvalidError):
        emails.all(**asked)


@pytest.mark.parametrize("number", ["9" * 19, "0"])
def test_a_place_beyond_every_row_is_no_error(number: str, emails: Queue[Any]) -> None:
    emails.add("a")

    assert len(emails.list(after="\0" + number).jobs) == (number == "0")


# all, while the queue changes.


@alone_and_inside_atomic
@pytest.mark.django_db(transaction=True)
def test_jobs_may_be_cancelled_while_all_goes_over_them(
    emails: Queue[Any], block: Callable[[], AbstractContextManager[Any]]
) -> None:
    add_all(emails, [f"{number:03}" for number in range(250)])

    with block():
        cancelled = [emails.cancel(str(job.id)) for job in emails.all()]

    assert cancelled == [True] * 250
    assert not models.Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_all_goes_on_over_commits_and_rollbacks(emails: Queue[Any]) -> None:
    add_all(emails, [f"{number:03}" for number in range(250)])
    seen = []

    for job in emails.all():
        seen.append(job.id)
        with transaction.atomic():
            emails.update(str(job.id), "changed")
            transaction.set_rollback(len(seen) % 2 == 0)

    assert len(seen) == len(set(seen)) == 250


def test_all_reads_a_page_when_its_first_job_is_asked_for(emails: Queue[Any]) -> None:
    emails.add_many(range(101))
    with CaptureQueriesContext(connection) as at_first:
        jobs = emails.all()
    first = [next(jobs) for _ in range(100)]
    with CaptureQueriesContext(connection) as at_the_next_page:
        last = next(jobs)

    assert [job.value for job in [*first, last]] == list(range(101))
    assert (looks(at_first), looks(at_the_next_page)) == (0, 1)


def looks(queries: CaptureQueriesContext) -> int:
    return len([one for one in queries if "tinystore_django_job" in one["sql"]])


# Its twins.


def test_the_twins_of_list_and_all_give_the_same(emails: Queue[Any]) -> None:
    emails.add_many(range(150), id=lambda number: f"{number:03}" if number < 90 else None)

    async def everything() -> tuple[JobPage[Any], list[Any]]:
        page = await emails.alist(prefix="0", limit=7)
        return page, [job async for job in emails.aall(state="waiting")]

    page, jobs = async_to_sync(everything)()

    assert page == emails.list(prefix="0", limit=7)
    assert jobs == list(emails.all(state="waiting"))


def test_all_goes_on_while_each_of_its_jobs_is_taken_away(emails: Queue[Any]) -> None:
    emails.add_many([str(number) for number in range(1_500)], id=lambda value: value)

    with transaction.atomic():
        taken = [emails.cancel(job.id) for job in emails.all() if job.id]

    assert taken == [True] * 1_500
    assert list(emails.all()) == []
