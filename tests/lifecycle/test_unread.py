"""Repeating jobs whose zone has left the time zone data, and comes back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import after, row
from tests.programs import wait_for
from tinystore_django import Queue, Schedule, Store, models
from tinystore_django.testing import Clock
from tinystore_django.timing import repeats, zones
from tinystore_django.worker.worker import Worker

pytestmark = pytest.mark.django_db
GONE = "0 * * * * US/Pacific-New"


@pytest.fixture
def reports(shop: Store, clock: Clock) -> Queue[Any]:
    """Its job "x" has run at noon, and its zone was gone when the run ended."""
    reports = shop.queue("reports", int)
    reports.add(1, id="x", every="1h", delay="0s")
    models.Job.objects.update(repeat=GONE)
    assert reports.run_due(lambda _: None) == 1
    return reports


def known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    names = frozenset({*zones._names(), "US/Pacific-New"})
    monkeypatch.setattr(zones, "_names", lambda: names)
    monkeypatch.setattr(zones, "ZoneInfo", lambda name: zones.zoneinfo.ZoneInfo("UTC"))
    repeats.read.cache_clear()


def test_it_waits_with_its_error_and_runs_no_more(reports: Queue[Any], clock: Clock) -> None:
    clock.advance("30d")

    assert reports.run_due(lambda _: None) == 0

    job = reports.get("x")
    assert job is not None
    assert (job.state, job.attempt, job.repeat) == ("scheduled", 0, GONE)
    assert (job.error or "").startswith("the kept repeat '0 * * * * US/Pacific-New' no longer reads")


def test_it_is_well_once_the_zone_is_back_at_the_first_tick_that_it_missed(
    reports: Queue[Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    clock.advance("5h")
    known_again(monkeypatch)

    assert reports.run_due(lambda _, run: ran.append(run.at)) == 1

    job = reports.get("x")
    assert job is not None
    assert ran == [after(hours=1)]
    assert (job.state, job.at, job.error) == ("scheduled", after(hours=6), None)


def test_of_what_was_asked_for_meanwhile_nothing_is_undone(
    reports: Queue[Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports.update("x", 2, at=after(days=2))
    known_again(monkeypatch)

    reports.run_due(lambda _: None)

    assert row().at == after(days=2)


def test_a_schedule_that_failed_waits_too_and_has_the_codes_repeat_once_opened(
    shop: Store, clock: Clock, hand: Any
) -> None:
    nightly: Schedule = shop.schedule("nightly", every="1h", attempts=1)
    nightly.run_due(lambda: None)
    clock.advance("2h")
    held = hand.take_one(nightly)
    models.Job.objects.update(repeat=GONE)
    hand.end(held, "retry", "no luck")
    waiting = nightly.get()

    nightly.run_due(lambda: None)

    job = nightly.get()
    assert waiting is not None
    assert job is not None
    assert (waiting.state, job.state, (job.repeat or "")[:6]) == ("scheduled", "scheduled", "@every")


@pytest.mark.django_db(transaction=True)
def test_a_worker_takes_it_up_while_it_runs(reports: Queue[Any], clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    clock.advance("5h")
    with Worker([reports._declaration.handled_by(ran.append)], lease=600_000).start():
        known_again(monkeypatch)
        wait_for(lambda: bool(ran))
