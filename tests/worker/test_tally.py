"""What a worker counts, and when it writes it down."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import DatabaseError, connection

from tests.programs import wait_for
from tinystore_django import Queue, Store, models
from tinystore_django.databases.rows import Held, Sum
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.worker import upkeep
from tinystore_django.worker.hold import Hold
from tinystore_django.worker.patience import Patience
from tinystore_django.worker.tally import Tally

pytestmark = pytest.mark.django_db(transaction=True)
HELD = Held(1, 1, 1, "emails", None, "1", 0, 1, None, None, 0, waited=5)


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails", attempts=1)


def test_sums_begin_anew_once_they_are_handed_over() -> None:
    tally, written = Tally(), list[Sum]()
    for waited in (5, 9, 7):
        tally.started([HELD._replace(waited=waited)])
    for outcome in ("done", "retry", "failed", "lost", "snoozed", "cancelled", "given back"):
        tally.ended(HELD, outcome)

    assert tally.hand_over(written.extend) is True
    assert tally.hand_over(written.extend) is False
    assert written == [Sum("emails", 3, 3, 9)]


def test_what_could_not_be_written_is_written_with_what_comes_next() -> None:
    def fail(sums: list[Sum]) -> None:
        raise DatabaseError("gone")

    tally, written = Tally(), list[Sum]()
    tally.started([HELD])
    with pytest.raises(DatabaseError):
        tally.hand_over(fail)
    tally.started([HELD])
    tally.hand_over(written.extend)

    assert written == [Sum("emails", 2, 0, 5)]


def test_a_worker_writes_its_sums_now_and_then_and_at_its_end(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LOOK", 0.02)
    emails.add("a")
    emails.add("b")

    def handler(value: str) -> None:
        if value == "b":
            raise ValueError(value)

    with emails.work(handler) as worker:
        wait_for(lambda: models.Minute.objects.filter(started__gt=0).exists())
        wait_for(lambda: worker.settled == 2)
        emails.add("c")
        wait_for(lambda: worker.settled == 3)

    sums = list(models.Minute.objects.values_list("queue", "started", "failed"))
    assert [sum(column) for column in list(zip(*sums, strict=True))[1:]] == [3, 1]


def test_an_idle_worker_asks_the_database_nothing_about_its_sums(emails: Queue[Any]) -> None:
    hold = Hold([emails._declaration], 30_000_000)
    hold.take()
    beside = upkeep.Upkeep(hold, Patience("default"), lambda lost: None)
    asked: list[str] = []

    def ask(execute: Any, sql: str, *about: Any) -> Any:
        asked.append(sql)
        return execute(sql, *about)

    with connection.execute_wrapper(ask):
        for _ in range(5):
            beside._tend()
        idle = list(asked)
        hold.tally.started([HELD])
        for _ in range(5):
            beside._tend()

    assert idle == []
    assert len([sql for sql in asked if "tinystore_django_minute" in sql]) == 1


def test_sums_are_written_at_most_every_few_seconds(emails: Queue[Any]) -> None:
    hold = Hold([emails._declaration], 30_000_000)
    hold.take()
    beside = upkeep.Upkeep(hold, Patience("default"), lambda lost: None)
    for _ in range(3):
        hold.tally.started([HELD])
        beside._tend()
    assert models.Minute.objects.get().started == 1

    beside._adds_up_at = time.monotonic()
    beside._tend()
    assert sum(models.Minute.objects.values_list("started", flat=True)) == 3


def test_a_lost_workers_run_counts_as_failed_by_whoever_takes_it_back(emails: Queue[Any]) -> None:
    emails.add("a")
    dead = Hold([emails._declaration], 30_000_000)
    claim("default", dead.take(), {"emails": 1})
    models.Lease.objects.all().delete()

    emails.run_due(lambda value: None)

    assert models.Minute.objects.get().failed == 1
