"""The thread beside a worker's loop: it renews the lease whatever else there is to do."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from typing import Any

import pytest
from django.db import Error, connection

from tests.byhand import NOON, Hand
from tests.programs import wait_for
from tinystore_django import Concurrency, Queue, Store, Worker, models
from tinystore_django.control import Control
from tinystore_django.databases import database
from tinystore_django.lifecycle import clearing, leasing
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.testing import clock
from tinystore_django.worker import upkeep
from tinystore_django.worker.hold import Hold
from tinystore_django.worker.patience import Patience

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = 9_000_000
TASKS = ("stop_cancelled", "sweep", "tend", "look_aside", "write_progress", "write_tally")


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


def tended(queue: Queue[Any]) -> tuple[Hold, upkeep.Upkeep]:
    hold = Hold([queue._declaration], LEASE)
    hold.take()
    one = upkeep.Upkeep(hold, Patience("default"), lambda lost: None)
    one._renews_at = 0.0
    return hold, one


def test_lost_jobs_beyond_one_batch_are_taken_back_without_a_wait(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "BATCH", 2)
    emails.add_many(range(7))
    dead = Hand()
    dead.take(emails, 7)
    models.Lease.objects.all().delete()

    _, thread = tended(emails)
    thread.start()
    try:
        # The next renewal that is due anyway comes after three seconds.
        wait_for(lambda: not models.Job.objects.filter(state=1).exists(), 2.5)
    finally:
        thread.stop()


def test_the_lease_is_renewed_between_two_batches_that_are_cleared(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clearing, "BATCH", 2)
    monkeypatch.setattr(upkeep, "BATCH", 2)
    done: list[str] = []
    real_clear, real_renew = upkeep.clear, leasing.renew
    monkeypatch.setattr(upkeep, "clear", lambda alias: (done.append("clear"), real_clear(alias))[1])
    monkeypatch.setattr(leasing, "renew", lambda *about: (done.append("renew"), real_renew(*about))[1])
    with clock(NOON) as moved:
        hand = Hand()
        emails.add_many(range(5))
        for held in hand.take(emails, 5):
            hand.end(held, "failed")
        moved.advance("8d")
        models.Lease.objects.all().delete()

        _, thread = tended(emails)
        thread.start()
        try:
            wait_for(lambda: not models.Job.objects.exists(), 2.5)
        finally:
            thread.stop()

    assert done[:6] == ["renew", "clear"] * 3


def test_a_report_that_fails_again_and_again_does_not_put_off_the_renewal(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, thread = tended(emails)
    thread._patience._pauses.next = 30.0
    monkeypatch.setattr(hold, "write_progress", _fail)
    thread._renews_at = time.monotonic() + 1.0

    assert thread._tend() <= 1.0


def _fail() -> bool:
    raise Error("the database is locked")


def test_a_lease_renewed_as_its_worker_ends_is_not_lost(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given_back, renewed = threading.Event(), threading.Event()
    real_back, real_renew = Hold.return_all, leasing.renew

    def give_back(hold: Hold) -> None:
        real_back(hold)
        given_back.set()
        assert renewed.wait(10)

    def renew(*about: Any) -> Any:
        late = given_back.is_set()
        renewal = real_renew(*about)
        if late:
            renewed.set()
        return renewal

    monkeypatch.setattr(Hold, "return_all", give_back)
    monkeypatch.setattr(leasing, "renew", renew)
    declaration = emails._declaration.handled_by(print)
    with Worker([declaration], lease=300_000).start():
        pass

    assert renewed.is_set()
    assert "the lease was lost" not in caplog.text
    assert not models.Lease.objects.exists()


def test_jobs_left_aside_come_back_while_a_busy_queue_claims_others(shop: Store) -> None:
    queue = shop.queue("grouped", concurrency=Concurrency(group=1))
    for id in ("b1", "a1", "a2"):
        queue.add(id, id=id, group=id[0])
    hold, thread = tended(queue)
    (held,) = Hand().take(queue, 1)
    models.Job.objects.filter(key="a1").delete()  # as if it had ended before the add of a2 committed
    thread._renews_at = time.monotonic() + 60
    hold.runs[held.fence] = Control("default", held)

    thread.start()
    try:
        wait_for(lambda: models.Job.objects.get(key="a2").state == models.Job.State.READY)
    finally:
        thread.stop()


def test_a_worker_that_starts_after_another_died_takes_its_jobs_back_as_their_lease_ends(emails: Queue[Any]) -> None:
    emails.add("a")
    Hand().take_one(emails)
    models.Lease.objects.update(expires_at=database("default").now() + 300_000)
    seen: list[str] = []

    with emails.work(seen.append):
        wait_for(lambda: seen == ["a"], 5)  # the first renewal that is due anyway comes after ten seconds


@pytest.mark.parametrize("broken", TASKS)
def test_what_raises_in_one_of_its_tasks_keeps_it_from_none_of_the_others(
    broken: str, emails: Queue[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hold, thread = tended(emails)
    done: list[str] = []

    def task(name: str) -> Any:
        def do(*about: Any) -> Any:
            done.append(name)
            if name == broken:
                raise KeyError("what nobody thought of")
            return False

        return do

    for name in TASKS:
        monkeypatch.setattr(hold, name, task(name))
    monkeypatch.setattr(thread, "_runs_long", lambda: True)
    models.Job.objects.create(queue="emails", value="1", at=NOON, due=NOON, state=models.Job.State.RUNNING)

    pause = thread._tend()

    assert done == [*TASKS]
    assert 0 < pause <= upkeep.LOOK
    assert caplog.text.count("KeyError: 'what nobody thought of'") == 1
    assert thread._renews_at > time.monotonic()


@pytest.mark.sqlite
def test_a_cancel_is_told_within_a_second_though_the_renewal_waits_for_the_lock(
    emails: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    emails.add("a", id="x")
    hold, thread = tended(emails)
    (held,) = claim("default", hold.take(), {"emails": 1}).held
    control = hold.runs[held.fence] = Control("default", held)
    control.began -= 10
    real, waits = hold.renew, threading.Event()
    monkeypatch.setattr(hold, "renew", lambda: (waits.set(), real())[1])

    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("begin immediate")
        thread.start()
        try:
            assert waits.wait(5)
            other.execute("update tinystore_django_job set cancelled = 1")
            other.execute("commit")
            other.execute("begin immediate")
            wait_for(lambda: control.why == "cancelled", 1)
        finally:
            other.rollback()
            thread.stop()
