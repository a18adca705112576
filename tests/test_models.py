"""The rows and their migrations."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tinystore_django import models

pytestmark = pytest.mark.django_db
AUTO_FIELDS = ["django.db.models.AutoField", "django.db.models.SmallAutoField", "django.db.models.BigAutoField"]


@pytest.mark.parametrize("auto_field", AUTO_FIELDS)
def test_no_migration_is_missing_whatever_the_projects_auto_field(auto_field: str, settings: Any) -> None:
    settings.DEFAULT_AUTO_FIELD = auto_field

    call_command("makemigrations", "tinystore_django", check=True, dry_run=True, stdout=StringIO())


def job(**about: Any) -> models.Job:
    now = timezone.now()
    return models.Job.objects.create(queue="q", value="1", at=now, due=now, **about)


def test_an_id_is_one_jobs_of_its_queue_until_it_is_released() -> None:
    job(key="x", released=True)
    job(key="x")
    job()
    job()

    with pytest.raises(IntegrityError), transaction.atomic():
        job(key="x")


def test_the_state_of_a_row_has_a_name() -> None:
    assert [state.name for state in models.Job.State] == ["READY", "RUNNING", "FAILED", "DONE", "ASIDE"]
    assert job().get_state_display() == "ready"


def test_a_row_names_itself() -> None:
    without = job()
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)

    assert (str(job(key="x")), str(without)) == ("q/x", f"q/{without.pk}")
    assert str(models.Step(name="render")) == "render"
    assert str(models.Lease(name="host:7")) == "host:7"
    assert str(models.Queue(name="q")) == "q"
    assert str(models.Group(queue="q", group="g")) == "q/g"
    assert str(models.Progress(progress="7")) == "7"
    assert str(models.Minute(queue="q", minute=noon)) == "q 2026-03-01 12:00:00+00:00"


@pytest.mark.postgresql
def test_the_table_of_jobs_is_vacuumed_early_and_the_queues_rows_have_room() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "select relname, reloptions from pg_class"
            " where relname in ('tinystore_django_job', 'tinystore_django_queue')"
        )
        options = dict(cursor.fetchall())

    assert options["tinystore_django_job"] == [
        "autovacuum_vacuum_scale_factor=0.02",
        "autovacuum_vacuum_threshold=1000",
    ]
    assert options["tinystore_django_queue"] == ["fillfactor=50"]


def running(run: int = 1, **about: Any) -> models.Job:
    return job(state=models.Job.State.RUNNING, run=run, **about)


def test_a_running_row_has_the_progress_of_its_run_and_no_other_row_has_any() -> None:
    state = models.Job.State
    rows = {name: running(key=name) for name in ("its own", "an older run's")}
    rows |= {name: job(key=name, run=1, state=state[name]) for name in ("READY", "FAILED", "DONE", "ASIDE")}
    for row in rows.values():
        models.Progress.objects.create(job=row.pk, run=1, progress="50")
    models.Job.objects.filter(key="an older run's").update(run=2)

    assert dict(models.Job.objects.values_list("key", "progress")) == {**dict.fromkeys(rows), "its own": "50"}
    assert [row.key for row in models.Job.objects.filter(progress__isnull=False)] == ["its own"]
    assert models.Job.objects.only("key").get(key="its own").progress == "50"
    assert models.Job._base_manager.get(key="its own").progress is None
    assert job().progress is None


def test_what_asks_for_no_progress_does_not_pay_for_it() -> None:
    row = running(key="x")
    models.Progress.objects.create(job=row.pk, run=1, progress="50")
    rows = models.Job.objects.filter(key="x")

    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        assert (rows.count(), rows.exists(), rows.values_list("key").get()) == (1, True, ("x",))
        assert rows.update(attempt=7) == 1
        found = models.Job.objects.select_for_update().values("pk").get(key="x")
        row.attempt = 8
        row.save()
        row.save(update_fields=["attempt"])
        row.refresh_from_db()
        assert rows.delete()[0] == 1

    assert (found, row.attempt) == ({"pk": row.pk}, 8)
    assert [query["sql"] for query in queries if "progress" in query["sql"]] == []


def test_a_locked_row_has_its_progress_and_can_be_saved() -> None:
    models.Progress.objects.create(job=running(key="x").pk, run=1, progress="50")

    with transaction.atomic():
        row = models.Job.objects.select_for_update().get(key="x")
        row.error = "no luck"
        row.save()

    assert (row.progress, models.Job.objects.get().error) == ("50", "no luck")
