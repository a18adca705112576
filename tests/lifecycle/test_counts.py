"""How a worker counts what runs while that is dear: the rule, without a database."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.lifecycle.test_floors import Moments
from tinystore_django.databases.rows import MARGIN, Count
from tinystore_django.lifecycle.counts import APART, MOST, Counts, Link
from tinystore_django.lifecycle.floors import FEW, LONGEST, SECONDS

NOW = 1_000_000_000
MANY = 2 * FEW  # entries
SESSION = object()


@pytest.fixture
def moments() -> Moments:
    return Moments()


@pytest.fixture
def counts(moments: Moments) -> Counts:
    """Those of a worker whose last count was long."""
    counts = Counts(moments)
    assert count(counts) is None
    return counts


def count(
    counts: Counts, *old: int, now: int = NOW, entries: int = MANY, session: object | None = SESSION
) -> Count | None:
    """One claim of the queue "emails": how it counts."""
    taken = counts.take(["emails"], session)
    counts.note(taken, now, entries, _told(taken, old))
    return taken["emails"].count


def _told(taken: dict[str, Link], old: Sequence[int]) -> dict[str, Sequence[int]]:
    return {queue: old for queue, link in taken.items() if link.count}


def test_a_count_that_read_few_entries_leaves_the_next_alone(moments: Moments) -> None:
    counts = Counts(moments)

    assert [count(counts, entries=FEW) for _ in range(3)] == [None] * 3


def test_a_long_count_has_the_next_tell_what_is_old_and_the_one_after_it_builds_on_that(counts: Counts) -> None:
    assert count(counts, 7, 8, now=NOW + 5) == Count()
    assert count(counts, 8, now=NOW + 9) == Count(NOW + 5 - MARGIN, (7, 8))
    assert count(counts) == Count(NOW + 9 - MARGIN, (8,))


def test_a_chain_goes_on_however_few_entries_its_counts_read(counts: Counts) -> None:
    count(counts)

    assert [count(counts, entries=0) for _ in range(3)] == [Count(NOW - MARGIN, ())] * 3


def test_a_chain_ends_where_the_count_in_full_has_become_short(counts: Counts) -> None:
    count(counts, entries=FEW)

    assert count(counts) is None


@pytest.mark.parametrize(("entries", "seconds"), [(MANY, MANY * SECONDS), (10**6, LONGEST)])
def test_a_chain_lasts_as_long_as_the_count_was_long_and_a_second_at_most(
    entries: int, seconds: float, counts: Counts, moments: Moments
) -> None:
    count(counts, entries=entries)

    for _ in range(3):
        moments.now += seconds / 4
        assert count(counts, entries=MANY) != Count()
    moments.now += seconds / 4
    assert count(counts) == Count()
    assert count(counts) == Count(NOW - MARGIN, ())


def test_a_count_builds_on_none_of_more_than_half_a_second_before(
    counts: Counts, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinystore_django.lifecycle.counts.LONGEST", 60.0)
    count(counts, entries=10**8)

    moments.now += APART
    assert count(counts) == Count(NOW - MARGIN, ())
    moments.now += APART + 0.001
    assert count(counts) == Count()


def test_the_half_second_begins_when_the_last_count_was_asked_for(counts: Counts, moments: Moments) -> None:
    taken = counts.take(["emails"], SESSION)
    moments.now += APART + 0.001
    counts.note(taken, NOW, 10**6, {"emails": []})

    assert count(counts) == Count()


def test_a_count_builds_on_none_of_another_session(counts: Counts) -> None:
    count(counts)

    assert count(counts, session=object()) == Count()


def test_no_count_builds_on_another_where_the_session_may_be_another_each_time(moments: Moments) -> None:
    counts = Counts(moments)

    assert [count(counts, session=None) for _ in range(3)] == [None] * 3


def test_a_claim_that_was_not_noted_ends_the_chain(counts: Counts) -> None:
    count(counts)
    counts.take(["emails"], SESSION)

    assert count(counts) is None


def test_a_chain_that_is_forgotten_has_ended(counts: Counts) -> None:
    count(counts)
    counts.forget()

    assert count(counts) is None


def test_so_many_old_jobs_that_to_look_at_each_would_be_long_make_no_chain(counts: Counts) -> None:
    count(counts, *range(MOST + 1))

    assert count(counts) is None


def test_a_queue_of_which_nothing_was_told_has_no_chain(counts: Counts) -> None:
    taken = counts.take(["emails"], SESSION)
    counts.note(taken, NOW, MANY, {})

    assert count(counts) is None


def test_each_queue_has_a_chain_of_its_own_and_few_entries_grow_with_them(moments: Moments) -> None:
    counts = Counts(moments)
    for entries in (3 * FEW, 3 * FEW + 1, 3 * FEW + 1):
        taken = counts.take(["a", "b", "c"], SESSION)
        counts.note(taken, NOW, entries, {"a": [1], "b": [], "c": [3]})

    assert {queue: link.count for queue, link in taken.items()} == dict.fromkeys("abc", Count())
    assert {queue: link.count for queue, link in counts.take("abcd", SESSION).items()} == {
        "a": Count(NOW - MARGIN, [1]),
        "b": Count(NOW - MARGIN, []),
        "c": Count(NOW - MARGIN, [3]),
        "d": None,
    }
