"""Watches of jobs that other processes run, cancel and lose: no report is of what did not happen."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections

from tests.programs import wait_for, worker
from tests.project.jobs import Nap, four_naps, stumbles
from tests.project.models import End, Start
from tests.races.helpers import names
from tests.watching.watch import Seen, nobody_watches

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_the_last_report_says_how_each_job_ended_though_cancels_race_with_runs() -> None:
    some = names(60)
    for name in some:
        four_naps.add(Nap(name, seconds=random.choice([0.0, 0.01, 0.05])), id=name)
    cancelled: set[str] = set()

    def cancel() -> None:
        try:
            for name in random.sample(some, 40):
                time.sleep(random.uniform(0, 0.03))
                if four_naps.cancel(name):
                    cancelled.add(name)
        finally:
            connections.close_all()

    async def watched() -> list[list[str]]:
        canceller = threading.Thread(target=cancel)
        watching = [asyncio.create_task(_states(name)) for name in some]
        await asyncio.sleep(0.5)
        canceller.start()
        shown = await asyncio.gather(*watching)
        await asyncio.to_thread(canceller.join)
        return shown

    with worker("four-naps"):
        shown = dict(zip(some, async_to_sync(watched)(), strict=True))

    # A job that ended before its watch began has no report.
    last = {name: states[-1] for name, states in shown.items() if states}
    assert {name for name, state in last.items() if state == "cancelled"} == cancelled & last.keys()
    assert {state for name, state in last.items() if name not in cancelled} <= {"done"}
    assert len(last) > 20
    wait_for(nobody_watches)


def test_a_job_whose_worker_was_killed_is_watched_until_another_has_done_it() -> None:
    stumbles.add(Nap("a", seconds=60.0), id="x")
    seen = Seen(stumbles)
    with worker("stumbles", "--lease=1s") as one:
        wait_for(lambda: seen.states[-1] == "running")
        wait_for(Start.objects.exists)
        one.kill()
    time.sleep(1.2)
    assert seen.states[-1] == "running"
    with worker("stumbles", "--lease=1s"):
        assert seen.end()[-1] == "done"

    assert list(Start.objects.values_list("attempt", flat=True)) == [1, 2]
    assert End.objects.get().attempt == 2
    wait_for(nobody_watches)


async def _states(name: str) -> list[str]:
    watch: Any = four_naps.awatch(name)
    return [job.state async for job in watch]
