"""Where claims begin while the line is full of dead entries: the rule, and what it costs nobody."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction

from tests.byhand import after
from tinystore_django import Store
from tinystore_django.databases.rows import BEGINNING, Claimed, Held, Start
from tinystore_django.lifecycle.floors import BACK, FEW, LONGEST, RUNNING, SECONDS, Floors
from tinystore_django.testing import Clock

NOW = 1_000_000_000
MANY = 2 * FEW  # entries


class Moments:
    """Seconds that a test moves by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def moments() -> Moments:
    return Moments()


@pytest.fixture
def floors(moments: Moments) -> Floors:
    """Those of a worker whose last claims were long, but for one."""
    floors = Floors(moments)
    for _ in range(RUNNING - 1):
        note(floors)
    assert floors.starts() == {}
    return floors


def taken(at: int, id: int, queue: str = "emails") -> Held:
    started = NOW
    return Held(id, 1, 1, queue, None, "1", at, 1, None, None, started, waited=started - at)


def note(floors: Floors, *held: Held, wanted: int = 1, entries: int = MANY, **about: Any) -> Claimed:
    """One claim of the queue "emails", or of those in `queues`, as a round makes it."""
    queues = about.get("queues", ["emails"])
    claimed = Claimed(NOW, list(held), about.get("next_due"), entries=entries)
    return floors.note(dict.fromkeys(queues, wanted), floors.starts(), about.get("bounded", ()), claimed)


def test_a_claim_that_read_few_entries_makes_no_floor(floors: Floors) -> None:
    note(floors, taken(5, 7), entries=FEW)

    assert floors.starts() == {}


def test_a_claim_that_read_few_entries_between_long_ones_makes_them_count_anew(floors: Floors) -> None:
    note(floors, taken(5, 7), entries=FEW)
    note(floors, taken(6, 8))

    assert floors.starts() == {}


def test_after_a_long_claim_the_next_begins_at_the_last_job_it_took(floors: Floors) -> None:
    note(floors, taken(5, 7), taken(6, 3), wanted=2)

    assert floors.starts() == {"emails": Start(6, 3)}


def test_each_claim_from_a_floor_moves_it_on_and_none_makes_it_last_longer(floors: Floors, moments: Moments) -> None:
    note(floors, taken(5, 7))
    moments.now += MANY * SECONDS * 0.9
    note(floors, taken(9, 8))
    assert floors.starts() == {"emails": Start(9, 8)}

    moments.now += MANY * SECONDS * 0.2
    assert floors.starts() == {}


@pytest.mark.parametrize(("entries", "seconds"), [(MANY, MANY * SECONDS), (10**6, LONGEST)])
def test_a_floor_lasts_as_long_as_the_claim_was_long_and_a_second_at_most(
    entries: int, seconds: float, floors: Floors, moments: Moments
) -> None:
    note(floors, taken(5, 7), entries=entries)

    moments.now += seconds - 0.001
    assert floors.starts() != {}
    moments.now += 0.002
    assert floors.starts() == {}


def test_a_floor_is_never_later_than_a_second_ago(floors: Floors) -> None:
    note(floors, taken(NOW - BACK // 2, 7))

    assert floors.starts() == {"emails": Start(NOW - BACK, BEGINNING.id)}


def test_a_claim_that_took_all_there_was_has_come_to_a_second_ago(floors: Floors) -> None:
    note(floors, taken(5, 7), wanted=2)

    assert floors.starts() == {"emails": Start(NOW - BACK, BEGINNING.id)}


def test_a_queue_whose_jobs_a_limit_may_have_held_back_has_come_no_further_than_its_last_job(floors: Floors) -> None:
    note(floors, wanted=2, bounded=["emails"])
    assert floors.starts() == {"emails": BEGINNING}

    note(floors, taken(5, 7), wanted=2, bounded=["emails"])
    assert floors.starts() == {"emails": Start(5, 7)}


def test_each_queue_has_a_floor_of_its_own_and_one_without_free_handlers_none(floors: Floors) -> None:
    claimed = Claimed(NOW, [taken(5, 7, "a"), taken(6, 8, "b")], entries=2 * MANY)

    floors.note({"a": 1, "b": 1, "c": 0}, {}, (), claimed)

    assert floors.starts() == {"a": Start(5, 7), "b": Start(6, 8)}


def test_what_is_few_entries_grows_with_the_queues(floors: Floors) -> None:
    note(floors, taken(5, 7, "a"), queues=["a", "b", "c"], entries=3 * FEW)

    assert floors.starts() == {}


def test_a_claim_from_a_floor_says_when_to_look_from_the_beginning(floors: Floors, moments: Moments) -> None:
    full = note(floors, taken(5, 7))
    moments.now += 0.01
    floored = note(floors, taken(6, 8), next_due=NOW + 60_000_000)

    assert (full.floored, full.next_due) == (False, None)
    assert floored.floored
    assert floored.next_due == pytest.approx(NOW + (MANY * SECONDS - 0.01) * 1e6, abs=2)
    assert note(floors, next_due=NOW + 5).next_due == NOW + 5


def test_a_floor_that_is_forgotten_while_a_claim_begins_at_it_is_looked_behind_at_once(floors: Floors) -> None:
    note(floors, taken(5, 7))
    starts = floors.starts()
    floors.forget()

    claimed = floors.note({"emails": 1}, starts, (), Claimed(NOW, [taken(6, 8)], entries=3))

    assert (claimed.floored, claimed.next_due) == (True, NOW)
    assert floors.starts() == {}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_what_others_rolled_back_changes_no_order(shop: Store, clock: Clock) -> None:
    emails, ran = shop.queue("emails"), list[str]()
    with suppress(ZeroDivisionError), transaction.atomic():
        emails.add_many(["nobody's"] * 20_000)
        raise ZeroDivisionError
    emails.add_many(["a", "b"])

    def handler(value: str) -> None:
        ran.append(value)
        if value == "a":
            emails.add("urgent", at=after(hours=-1))

    emails.run_due(handler)

    assert ran == ["a", "urgent", "b"]
