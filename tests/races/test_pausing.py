"""A pause is heard by every worker process at once, and so is its end."""

from __future__ import annotations

import time

import pytest

from tests.programs import wait_for, worker
from tests.project.jobs import atomic_marks, marks
from tests.project.models import Mark
from tinystore_django.lifecycle.pausing import pause, resume
from tinystore_django.models import Lease

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def has_run(name: str) -> bool:
    return Mark.objects.filter(name=name).exists()


def test_no_worker_starts_a_paused_queues_jobs_and_each_goes_on_once_it_is_resumed() -> None:
    with worker("marks", "atomic-marks", "--poll=30s") as one, worker("marks", "atomic-marks", "--poll=30s") as two:
        for program in (one, two):
            program.wait_for_line("runs ")
        wait_for(lambda: Lease.objects.count() == 2)
        pause("default", "marks")
        for number in range(20):
            marks.add(f"paused-{number}")
        atomic_marks.add_many(f"other-{number}" for number in range(20))
        wait_for(lambda: Mark.objects.filter(name__startswith="other-").count() == 20)
        assert not Mark.objects.filter(name__startswith="paused-").exists()

        resume("default", "marks")
        resumed = time.monotonic()
        wait_for(lambda: has_run("paused-0"))
        assert time.monotonic() - resumed < 5
        wait_for(lambda: Mark.objects.filter(name__startswith="paused-").count() == 20)

        leases = list(Lease.objects.all())
        assert {int(lease.name.rpartition(":")[2]) for lease in leases} == {one.pid, two.pid}
        assert {lease.version for lease in leases} == {"0.1.0"}
        assert all(lease.woken.endswith("every 30s") and lease.renewed_at for lease in leases)
