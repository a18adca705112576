"""What a worker holds: one lease, and the runs under it."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
from django.db import Error, connections, transaction

from tests.byhand import Hand
from tinystore_django import Store, models
from tinystore_django.control import Control
from tinystore_django.databases.rows import Claimed
from tinystore_django.lifecycle import leasing, stepping
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.lifecycle.floors import RUNNING
from tinystore_django.testing import Clock
from tinystore_django.worker.hold import Hold

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = 30_000_000


@pytest.fixture
def hold(shop: Store) -> Hold:
    return Hold([shop.queue("emails")._declaration], LEASE)


def in_threads(count: int, call: Any) -> list[threading.Thread]:
    """Calls in so many threads at once, and gives them five seconds."""

    def run() -> None:
        call()
        connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(5)
    return threads


def test_threads_that_take_it_at_once_share_one_lease(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    real, taken = leasing.take, list[int]()

    def slow(*about: Any, **more: Any) -> int:
        time.sleep(0.1)
        return real(*about, **more)

    monkeypatch.setattr(leasing, "take", slow)
    in_threads(3, lambda: taken.append(hold.take()))

    assert taken == [models.Lease.objects.get().pk] * 3


@pytest.mark.postgresql
def test_progress_is_written_while_somebodys_transaction_holds_the_jobs_row(shop: Store, hold: Hold) -> None:
    shop.queue("emails").add("a", id="x")
    (held,) = claim("default", hold.take(), {"emails": 1}).held
    hold.runs[held.fence] = Control("default", held, progress="1")

    with transaction.atomic():
        models.Job.objects.select_for_update().get(key="x")
        in_threads(1, hold.write_progress)
        shown = models.Job.objects.get().progress

    assert shown == "1"


def test_progress_is_written_once_and_again_when_it_changed(
    shop: Store, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.queue("emails").add("a")
    (held,) = claim("default", hold.take(), {"emails": 1}).held
    control = hold.runs[held.fence] = Control("default", held)
    before = (hold.has_progress(), hold.write_progress(), hold.reported)
    control.progress = "1"
    broken = [Error("the server is away")]
    real = stepping.report
    monkeypatch.setattr(stepping, "report", lambda *about: _raise(broken.pop()) if broken else real(*about))

    with pytest.raises(Error):
        hold.write_progress()
    after_error = hold.has_progress()  # it is still to be written
    after = (hold.write_progress(), hold.has_progress(), hold.write_progress(), hold.reported)

    assert before == (False, False, False)
    assert after_error
    assert after == (True, False, False, True)


def test_progress_that_nobody_can_see_any_more_is_not_written(shop: Store, hold: Hold) -> None:
    shop.queue("emails").add("a")
    (held,) = claim("default", hold.take(), {"emails": 1}).held
    hold.runs[held.fence] = Control("default", held, progress="1", over=True)

    assert (hold.has_progress(), hold.write_progress()) == (False, False)
    assert not models.Progress.objects.exists()


def _raise(error: Exception) -> None:
    raise error


def test_a_lease_lapses_unless_it_is_renewed(shop: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = shop.queue("emails")
    hold = Hold([queue._declaration], 30_000_000)
    assert not hold.lapsed  # there is none yet
    hold.take()
    assert not hold.lapsed
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + 31)

    assert hold.lapsed
    assert hold.renew() is not None
    assert not hold.lapsed


def test_claims_begin_at_the_first_job_again_once_it_has_put_some_back(hold: Hold, clock: Clock) -> None:
    lost = Hand()
    queue = Store().queue("emails")
    queue.add("a", id="x")
    lost.take_one(queue)

    def has_floor() -> bool:
        for _ in range(RUNNING):
            hold.floors.note({"emails": 1}, {}, (), Claimed(0, entries=10**6))
        return "emails" in hold.floors.starts()

    assert has_floor()
    clock.advance("1m")
    assert len(hold.sweep()) == 1
    assert hold.floors.starts() == {}

    assert has_floor()
    unknown = claim("default", hold.take(), {"emails": 1}).held
    hold.return_unknown()
    assert len(unknown) == 1
    assert hold.floors.starts() == {}


def test_a_lost_run_is_a_line_as_any_other_and_a_warning_where_its_job_failed_for_good(
    shop: Store, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    queues = [shop.queue("emails"), shop.queue("hooks", attempts=1)]
    for queue in queues:
        queue.add("a", id="x")
        Hand().take_one(queue)
    clock.advance("1m")

    with caplog.at_level(logging.INFO, "tinystore_django"):
        Hold([queue._declaration for queue in queues], LEASE).sweep()

    assert {(one.levelname, one.getMessage()) for one in caplog.records} == {
        ("INFO", "emails id=x attempt=1 lost: the worker was lost"),
        ("WARNING", "hooks id=x attempt=1 failed: the worker was lost"),
        ("WARNING", "took back 2 runs of workers that were lost"),
    }
