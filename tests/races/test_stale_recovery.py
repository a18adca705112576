"""A recovery that read a job before its run ended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project.jobs import marks
from tinystore_django.lifecycle import claiming, leasing, refused
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.settling import Finished, settle
from tinystore_django.models import Job as Row
from tinystore_django.models import Lease

pytestmark = pytest.mark.django_db(transaction=True)
SPAN = 30_000_000


@pytest.mark.parametrize("ending", [Ending("done"), Ending("snoozed", delay=SPAN)])
def test_a_run_that_ends_while_it_is_taken_for_lost_has_ended(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    marks.add("a", id="a")
    lease = leasing.take("default", "here:1", ["marks"], SPAN)
    held = claiming.claim("default", lease, {"marks": 1}).held[0]
    Lease.objects.all().delete()

    def settle_late(alias: str, lost: Any) -> Any:
        own = settle(alias, [Finished(held, ending, marks._declaration.options)])
        assert held.fence in own.outcomes
        return settle(alias, lost)

    monkeypatch.setattr(refused, "settle", settle_late)
    swept = leasing.sweep("default", lambda queue: marks._declaration.options)

    assert swept == {}
    job = marks.get("a")
    if ending.kind == "done":
        assert job is None
        assert not Row.objects.exists()
    else:
        assert (job.state, job.attempt, job.error) == ("scheduled", 0, None)
