"""What a project's own tests are given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import TestCase, override_settings

from tests.byhand import NOON, after
from tinystore_django import InvalidError, Queue, Store, models, testing
from tinystore_django.testing import Clock, assert_added, assert_not_added

pytestmark = pytest.mark.django_db


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails", keep_done="1d")


# The clock.


def test_a_clock_stands_still_between_moves() -> None:
    with testing.clock() as clock:
        now = clock.now
        assert clock.now == now
        clock.advance("1h30m")
        clock.advance(timedelta(microseconds=1))
        assert clock.now == now + timedelta(minutes=90, microseconds=1)


def test_a_clock_may_be_set_to_any_time_and_starts_at_the_present() -> None:
    with testing.clock() as clock:
        assert abs(clock.now - datetime.now(UTC)) < timedelta(minutes=1)
        clock.set(datetime(1999, 12, 31, tzinfo=UTC))
        assert clock.now == datetime(1999, 12, 31, tzinfo=UTC)


def test_a_clock_inside_another_gives_the_time_back() -> None:
    with testing.clock(NOON) as outer:
        with testing.clock(after(days=1)) as inner:
            assert inner.now == after(days=1)
        assert outer.now == NOON


def test_after_the_block_the_time_is_the_real_one(emails: Queue[Any]) -> None:
    with pytest.raises(RuntimeError), testing.clock(NOON):
        raise RuntimeError
    emails.add("a", id="x")

    assert abs(emails.get("x").at - datetime.now(UTC)) < timedelta(minutes=1)  # type: ignore[union-attr]


def test_a_clock_refuses_what_is_no_time_or_span() -> None:
    with pytest.raises(InvalidError, match="^start"), testing.clock(datetime(2026, 1, 1)):
        pass
    with testing.clock(NOON) as clock:
        for move in (lambda: clock.set(datetime(2026, 1, 1)), lambda: clock.advance("-5s")):
            with pytest.raises(InvalidError):
                move()
        assert clock.now == NOON


@override_settings(USE_TZ=False, TIME_ZONE="America/New_York")
def test_without_use_tz_a_clock_takes_the_projects_own_time() -> None:
    with testing.clock(datetime(2026, 7, 1, 8)) as clock:
        assert clock.now == datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_a_delayed_job_runs_once_it_is_due(emails: Queue[Any], clock: Clock) -> None:
    emails.handler(lambda value: None)
    emails.add("ada", delay="1h")

    assert emails.run_due() == 0
    clock.advance("1h")
    assert emails.run_due() == 1


def test_the_clock_moves_what_is_kept_too(emails: Queue[Any], clock: Clock) -> None:
    emails.add("a", id="x")
    emails.run_due(lambda value, run: run.fail("no"))
    clock.advance("6d")
    kept = emails.get("x")
    clock.advance("1d")

    assert (kept is not None, emails.get("x")) == (True, None)


# run_due for a whole project.


def test_run_due_runs_every_queue_and_schedule_that_has_a_handler(shop: Store, clock: Clock) -> None:
    ran: list[Any] = []
    first, second = shop.queue("first"), shop.queue("second")
    shop.queue("unhandled").add("nobody's")
    nightly = shop.schedule("nightly", cron="0 3 * * *", time_zone="UTC")
    first.handler(lambda value: (ran.append(value), second.add("from the first")))
    second.handler(ran.append)
    nightly.handler(lambda run: ran.append(run.at))

    first.add("a")
    settled = [testing.run_due(), testing.run_due()]
    clock.advance("15h")
    settled.append(testing.run_due())

    assert settled == [2, 0, 1]
    assert ran == ["a", "from the first", after(hours=15)]


@pytest.mark.django_db(databases=["default", "other"])
def test_run_due_goes_on_until_no_database_has_anything_due(shop: Store, clock: Clock) -> None:
    elsewhere = Store(using="other")
    here, there = shop.queue("here"), elsewhere.queue("there")
    here.handler(lambda left: there.add(left - 1) if left else None)
    there.handler(lambda left: here.add(left - 1) if left else None)
    here.add(4)

    settled = testing.run_due()
    elsewhere._registry.declarations.clear()

    assert settled == 5


# Assertions.


def test_an_assertion_compares_what_it_is_given(emails: Queue[Any], clock: Clock) -> None:
    emails.add({"to": "ada"}, id="x", delay="1h")
    emails.add({"to": "bob"})
    emails.add(None)

    assert_added(emails, count=3)
    assert_added(emails, value={"to": "ada"})
    assert_added(emails, {"to": "ada"}, id="x", at=after(hours=1))
    assert_added(emails, id=None, count=2)
    assert_added(emails, value=None)
    assert_added(emails, at=NOON, count=2)
    assert_not_added(emails, value={"to": "eve"})
    assert_not_added(emails, id="y")
    assert_not_added(emails, id="x", at=NOON)


def test_what_has_ended_well_is_not_held_and_what_failed_is(emails: Queue[Any], clock: Clock) -> None:
    emails.add("good")
    emails.add("bad", id="x")
    emails.run_due(lambda value, run: run.fail("no") if value == "bad" else None)

    assert_added(emails, id="x")
    assert_added(emails, count=1)


def test_a_failed_assertion_lists_what_the_queue_holds(emails: Queue[Any], clock: Clock) -> None:
    emails.add("ada", id="x", delay="1h")

    with pytest.raises(AssertionError) as failed:
        assert_added(emails, value="bob", id="x", count=2)

    assert str(failed.value) == (
        "2 of job(value='bob', id='x') expected in queue 'emails', 0 found; it holds:\n"
        "  id='x' value='ada' at=2026-03-01T13:00:00+00:00 scheduled"
    )


def test_a_failed_assertion_that_nothing_was_added_lists_it_too(emails: Queue[Any], clock: Clock) -> None:
    emails.add("ada")

    with pytest.raises(AssertionError, match=r"0 of job\(\) expected in queue 'emails', 1 found; it holds:\n  id=None"):
        assert_not_added(emails)
    emails.run_due(lambda value: None)
    with pytest.raises(AssertionError, match="0 found; it holds nothing"):
        assert_added(emails)


def test_an_assertion_lists_a_value_that_no_longer_reads(shop: Store, clock: Clock) -> None:
    numbers = shop.queue("numbers", int)
    numbers.add(1)
    models.Job.objects.update(value='"one"')

    with pytest.raises(AssertionError, match="Unreadable"):
        assert_added(numbers, value=1)


# Where a test asks for them.


def test_pytest_finds_the_fixtures_by_itself(
    tinystore_clock: Clock, tinystore_run_due: Any, emails: Queue[Any]
) -> None:
    emails.handler(lambda value: None)
    emails.add("a", delay="1h")
    before = tinystore_run_due()
    tinystore_clock.advance("1h")

    assert (before, tinystore_run_due()) == (0, 1)


class OrdersTest(TestCase):
    """As a project without pytest writes it."""

    def setUp(self) -> None:
        self.store = Store()
        self.addCleanup(self.store._registry.declarations.clear)
        self.emails = self.store.queue("emails")
        self.ran: list[str] = []
        self.emails.handler(self.ran.append)

    def test_what_a_test_adds_runs_in_its_transaction(self) -> None:
        with testing.clock() as clock:
            self.emails.add("ada", delay="1h")
            assert_added(self.emails, "ada")
            clock.advance("1h")
            assert testing.run_due() == 1
        assert self.ran == ["ada"]
        assert_not_added(self.emails)

    def test_what_another_test_added_is_gone(self) -> None:
        assert_not_added(self.emails)
        self.emails.add("bob")

    def test_what_yet_another_added_is_gone(self) -> None:
        assert_not_added(self.emails)
        self.emails.add("bob")
