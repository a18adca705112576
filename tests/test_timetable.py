"""The schedules of a database: of rows and of code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import us
from tinystore_django import Store, models, timetable
from tinystore_django.databases import database
from tinystore_django.databases.rows import NewJob
from tinystore_django.lifecycle import repeating
from tinystore_django.lifecycle.repeating import Name
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def names(clock: Clock, *asked: Name) -> list[str]:
    return [one.queue for one in timetable.schedules("default", asked, us(clock.now))]


def test_schedules_with_a_row_and_without_are_in_the_order_of_their_names(shop: Store, clock: Clock) -> None:
    shop.schedule("b", every="1h").run_due(lambda: None)
    shop.schedule("a", every="1h")
    database("default").insert(NewJob("c", "null", "c", repeat="@every 1h +0ms"))
    shop.queue("letters").add(1, id="7", every="1h")

    assert names(clock) == ["a", "b", "c"]


def test_those_asked_for_are_given(shop: Store, clock: Clock) -> None:
    for name in "ab":
        shop.schedule(name, every="1h").run_due(lambda: None)

    assert names(clock, Name("b")) == ["b"]
    assert names(clock, Name("a", "a"), Name("b", "7")) == ["a"]


def test_a_cancelled_schedule_is_none_that_was_never_opened(shop: Store, clock: Clock) -> None:
    shop.schedule("a", every="1h")
    cancelled = shop.schedule("b", every="1h")
    cancelled.run_due(lambda: None)
    cancelled.cancel()

    found = {one.queue: (one.state, one.at) for one in timetable.schedules("default", (), us(clock.now))}

    assert found["b"] == ("cancelled", clock.now)
    assert found["a"][0] == "not opened"


def test_more_than_are_looked_for_at_once_are_found(shop: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timetable, "PAGE", 2)
    for name in "abcde":
        database("default").insert(NewJob(name, "null", name, repeat="@every 1h +0ms"))

    assert names(clock) == list("abcde")


def test_a_job_of_a_declared_queue_is_its_own_whatever_its_id(shop: Store, clock: Clock) -> None:
    shop.queue("letters").add(1, id="letters", every="1h")
    shop.schedule("pulse", every="1h").run_due(lambda: None)

    found: dict[str, Any] = {one.queue: one for one in timetable.schedules("default", (), us(clock.now))}

    assert {name: timetable.is_of_queue("default", name) for name in found} == {
        "letters": True,
        "pulse": False,
    }


def test_a_repeat_that_no_longer_reads_is_none(clock: Clock) -> None:
    database("default").insert(NewJob("old", "null", "old", repeat="nonsense"))
    (job,) = repeating.read("default", list(repeating.rows_of_schedules("default").values()))

    assert timetable.repeat_of(job) is None
    assert models.Job.objects.get().repeat == "nonsense"
