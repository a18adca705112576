"""The columns: an instant kept as microseconds, and text in the order of its bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db.models import F, Max
from django.test import override_settings

from tests.byhand import NOON, after, us
from tinystore_django import InvalidError, fields, models

pytestmark = pytest.mark.django_db
EXACT = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)


def job(at: Any = EXACT, **about: Any) -> models.Job:
    return models.Job.objects.create(queue="q", value="1", at=at, due=at, **about)


@pytest.mark.parametrize(
    "at", [EXACT, EXACT.astimezone(timezone(timedelta(hours=5))), us(EXACT)], ids=["utc", "elsewhere", "microseconds"]
)
def test_an_instant_is_an_aware_datetime_in_utc_whatever_it_was_given_as(at: Any) -> None:
    read = models.Job.objects.get(pk=job(at).pk).at

    assert read == EXACT
    assert isinstance(read, datetime)
    assert read.tzinfo is UTC


def test_lookups_take_datetimes_and_microseconds() -> None:
    job()
    jobs = models.Job.objects

    for later in (EXACT, us(EXACT), EXACT.isoformat()):
        assert jobs.filter(at__lte=later).count() == 1
        assert jobs.filter(at__lt=later).count() == 0
    assert jobs.filter(at=EXACT, at__in=[EXACT], at__range=(NOON, after(hours=1)), at__gte=F("due")).count() == 1
    assert jobs.filter(ended_at__isnull=True).count() == 1
    assert jobs.aggregate(latest=Max("at"))["latest"] == EXACT
    assert list(jobs.values_list("at", flat=True)) == [EXACT]


def test_a_naive_time_is_refused_where_times_have_zones() -> None:
    with pytest.raises(InvalidError, match="has no time zone"):
        models.Job.objects.filter(at__lte=datetime(2026, 3, 1)).exists()


@override_settings(USE_TZ=False, TIME_ZONE="America/New_York")
def test_a_naive_time_is_the_projects_own_where_they_have_none() -> None:
    job(datetime(2026, 7, 1, 12, tzinfo=UTC))

    assert models.Job.objects.filter(at=datetime(2026, 7, 1, 8)).exists()


@pytest.mark.parametrize("format", ["json", "xml"])
def test_a_fixture_gives_back_its_rows(format: str) -> None:
    kept = job(datetime(2026, 3, 1, 12, 0, 0, 123_000, tzinfo=UTC), key="x")
    before = models.Job.objects.values().get()
    text = serializers.serialize(format, [kept])
    models.Job.objects.all().delete()

    for loaded in serializers.deserialize(format, text):
        loaded.save()

    assert models.Job.objects.values().get() == before
    assert models.Job.objects.filter(at__lte=kept.at).exists()


def test_a_row_is_validated_as_any_other() -> None:
    job().full_clean()

    with pytest.raises(ValidationError, match="write a time as"):
        models.Job._meta.get_field("at").to_python("noon")


def test_a_form_takes_a_time() -> None:
    field = models.Job._meta.get_field("at").formfield()
    assert field is not None

    assert field.clean("2026-03-01 12:00") == NOON


def test_text_is_in_the_order_of_its_bytes() -> None:
    for key in ("b", "B", "á", "a", "_", "%"):
        job(key=key)

    assert list(models.Job.objects.order_by("key").values_list("key", flat=True)) == ["%", "B", "_", "a", "b", "á"]


@pytest.mark.parametrize(("us", "nearest"), [(9 * 10**18, datetime.max), (-(2**63), datetime.min)])
def test_a_time_outside_the_calendar_is_read_as_the_nearest_and_told_once(
    us: int, nearest: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    fields._told.clear()
    models.Job.objects.filter(pk=job().pk).update(at=us)

    for _ in range(2):
        assert models.Job.objects.get().at == nearest.replace(tzinfo=UTC)

    assert [one.getMessage() for one in caplog.records] == [
        f"a row of tinystore_django_job has at {us}, a time outside the years 1 to 9999"
    ]
