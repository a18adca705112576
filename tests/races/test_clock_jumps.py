"""A clock that jumps, as a machine's may: each job runs once, and the ticks are right again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.races.helpers import settled
from tinystore_django import Job, Store
from tinystore_django.models import Lease
from tinystore_django.testing import clock, run_due

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_clock_that_jumps_a_day_and_back_runs_each_job_once_and_keeps_the_ticks() -> None:
    runs = []
    store = Store()
    hourly = store.schedule("hourly", cron="0 * * * *", time_zone="UTC")
    plain = store.queue("of-that-day")
    hourly.handler(lambda run: runs.append(("hourly", run.at)))
    plain.handler(lambda value, run: runs.append((value, run.at)))
    with clock() as now:
        today = now.now.replace(minute=30, second=0, microsecond=0)
        now.set(today)
        run_due()
        for hours in (1, 5, 23):
            plain.add(hours, delay=timedelta(hours=hours))

        now.advance("1d")
        run_due()
        now.set(today)
        assert run_due() == 0

        assert sorted(value for value, _ in runs if value != "hourly") == [1, 5, 23]
        assert [at for value, at in runs if value == "hourly"] == [today + timedelta(minutes=30)]
        tomorrow = today + timedelta(days=1, minutes=30)
        assert hourly.get().at == tomorrow
        now.set(tomorrow)
        assert run_due() == 1
        assert hourly.get().at == tomorrow + timedelta(hours=1)


def test_a_worker_outlives_its_clock_jumping_a_day_and_back() -> None:
    queue = Store().queue("jumping", dedupe="1h")
    with clock() as now:
        today = now.now
        queue.add(1, id="tomorrow", delay="23h")
        with queue.work(lambda value: None):
            now.advance("1d")
            settled(queue, "tomorrow")
            now.set(today)
            queue.add(2, id="today")
            job: Job[int] = settled(queue, "today")
            assert job.attempt == 1
            assert Lease.objects.count() == 1
