"""Rows that no job can have, made by hand or by a bug: each is its own trouble, and nobody else's."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from tests import damaged
from tests.byhand import NOON, us
from tests.programs import wait_for
from tinystore_django import Concurrency, Queue, Store, Worker, models
from tinystore_django.admin import detail
from tinystore_django.admin.verbs import VERBS
from tinystore_django.databases import database
from tinystore_django.lifecycle import operating
from tinystore_django.lifecycle.clearing import clear
from tinystore_django.lifecycle.sighting import first, look
from tinystore_django.testing import Clock
from tinystore_django.values import is_text
from tinystore_django.worker.hold import Hold

pytestmark = pytest.mark.django_db
ADMIN = "/admin/tinystore_django"
LIMITS: dict[str, dict[str, Any]] = {
    "damaged": {},
    "total": {"concurrency": 50},
    "grouped": {"concurrency": Concurrency(total=50, group=5)},
    "rated": {"rate": "1000/s", "group_rate": "100/s"},
}


class Queues:
    """Queues full of such rows, of each kind of limit, and one without any."""

    def __init__(self, shop: Store) -> None:
        self.damaged = {name: shop.queue(name, attempts=3, **about) for name, about in LIMITS.items()}
        self.sound: Queue[int] = shop.queue("sound", int)
        self.schedule = shop.schedule("beat", every="1h")
        for queue in (*self.damaged.values(), self.sound):
            queue.handler(lambda value: 1 / 0 if value == 1 else None)
        self.schedule.handler(lambda: None)

    @property
    def declarations(self) -> list[Any]:
        return [one._declaration for one in (*self.damaged.values(), self.sound, self.schedule)]


@pytest.fixture
def queues(shop: Store, clock: Clock, db: None) -> Queues:
    made = Queues(shop)
    damaged.damage_jobs([*LIMITS, "old"])
    for name in LIMITS:
        for starts in damaged.TEXTS:
            damaged.insert(
                "tinystore_django_group",
                {"queue": name, "group": "tea", "starts": starts, "free_at": 0, "until": 2**62},
            )
    damaged.damage_others("damaged")
    for number, damage in enumerate(damaged.damages(models.Job)):
        repeats = {"queue": f"old {number}", "key": f"old {number}", "repeat": "@every 1h +0ms"}
        damaged.insert("tinystore_django_job", {**damaged.JOB, **repeats, **damage})
    return made


def ids(queue: Queue[Any]) -> list[str]:
    """Those of its jobs that a call takes."""
    keys = models.Job.objects.filter(queue=queue.name, released=False).values_list("key", flat=True)
    return [key for key in keys if is_text(key)]


def run_sound(queues: Queues) -> bool:
    queues.sound.add(2, id="sound")
    return queues.sound.run_due() == 1


def test_a_workers_upkeep_goes_on(queues: Queues) -> None:
    hold = Hold(queues.declarations, 30_000_000)
    hold.take()

    assert hold.renew() is not None
    hold.tend()
    while hold.sweep():
        pass
    hold.stop_cancelled()

    assert not models.Job.objects.filter(state=1).exclude(lease=hold.lease).exists()
    assert run_sound(queues)


@pytest.mark.parametrize("name", LIMITS)
def test_a_queue_runs_what_can_run_and_the_rest_fails_with_a_reason(queues: Queues, name: str) -> None:
    queue = queues.damaged[name]
    models.Queue.objects.update_or_create(name=name, defaults={"starts": "[[1]]"})

    while queue.run_due():
        pass

    assert queue.add(2, id="a new one")
    assert queue.run_due() == 1
    assert run_sound(queues)


def test_lists_and_calls_give_the_others(queues: Queues) -> None:
    for queue in queues.damaged.values():
        assert len([key for key in ids(queue)[::3] if queue.get(key)]) > 20
        assert list(queue.all())
        for state in (None, "scheduled", "waiting", "running", "failed"):
            list(queue.all(state=state))


def test_each_call_does_what_it_does_to_a_job_or_finds_none(queues: Queues) -> None:
    queue = queues.damaged["damaged"]
    for place, key in enumerate(ids(queue)):
        queue.add(2, id=key)
        queue.update(key, 2, delay="1h")
        if place % 2:
            queue.set(key, 2)
        assert queue.cancel(key) or queue.get(key) is None or queue.get(key).state == "done"  # type: ignore[union-attr]


@pytest.mark.parametrize("verb", [operating.retry, operating.run_now, operating.cancel, operating.move])
def test_an_operators_action_is_done_to_each_that_it_fits(queues: Queues, verb: Any) -> None:
    jobs = list(models.Job.objects.values_list("pk", flat=True))

    outcome = verb("default", jobs, *([us(NOON)] if verb is operating.move else []))

    assert outcome.done
    assert outcome.done + outcome.left.total() == len(jobs)


def test_what_is_past_its_keep_is_cleared(queues: Queues, clock: Clock) -> None:
    clock.advance("400d")
    while clear("default"):
        pass

    assert run_sound(queues)


def test_each_is_told_to_who_watches_it_and_the_others_go_on(queues: Queues) -> None:
    queues.sound.add(2, id="x", delay="1h")
    rows = models.Job.objects.filter(queue__in=["damaged", "sound"], key__isnull=False, released=False)
    codec = queues.sound._declaration.codec
    sights = {(row.queue, row.key): first("default", row.queue, row.key, codec, None) for row in rows}
    queues.sound.update("x", 2, delay="3h")

    news = look("default", {key: one for key, one in sights.items() if one}).news

    assert news["sound", "x"].job.at.hour == 15


def test_every_page_of_the_admin_is_there(queues: Queues, admin_client: Client) -> None:
    pages = [
        *(
            f"job/?queue={name}&state={state}"
            for name in LIMITS
            for state in ("", "running", "failed", "waiting", "done")
        ),
        *("queue/", "schedule/", "lease/"),
    ]

    assert [page for page in pages if admin_client.get(f"{ADMIN}/{page}").status_code != 200] == []


def test_every_jobs_page_is_there(queues: Queues, admin_client: Client) -> None:
    rows = models.Job.objects.annotate(now=database("default").now_expression())
    for row in rows.filter(queue__in=["damaged", "old"]):
        detail.facts(row)
        detail.steps(row)
    for row in rows.filter(queue="damaged")[::10]:
        assert admin_client.get(f"{ADMIN}/job/{row.pk}/change/").status_code in (200, 302)


@pytest.mark.parametrize("verb", VERBS)
def test_every_action_of_the_admin_is_answered(queues: Queues, admin_client: Client, verb: str) -> None:
    jobs = list(models.Job.objects.filter(queue__in=["damaged", "old"]).values_list("pk", flat=True))
    ticked = {"_selected_action": [str(jobs[0])], "action": verb}

    posted = [admin_client.post(f"{ADMIN}/job/?queue=damaged", {**ticked, "select_across": across}) for across in "01"]
    posted += [admin_client.post(f"{ADMIN}/job/{job}/operate/", {"verb": verb}, follow=True) for job in jobs[::15]]

    assert {one.status_code for one in posted} <= {200, 302}


def test_the_command_shows_what_repeats(queues: Queues) -> None:
    out = StringIO()
    call_command("tinystore_schedules", "--all", "--next", "2", stdout=out)

    assert len(re.findall("^old ", out.getvalue(), re.M)) > 30


@pytest.mark.django_db(transaction=True)
def test_a_worker_runs_all_other_jobs_and_stumbles_over_nothing(shop: Store, caplog: pytest.LogCaptureFixture) -> None:
    queues = Queues(shop)
    damaged.damage_jobs([*LIMITS, "old"])
    damaged.damage_others("damaged")
    worker = Worker([one.handled_by(None) for one in queues.declarations], grace=1_000_000).start()
    try:
        queues.sound.add_many(range(10, 20))
        wait_for(lambda: not models.Job.objects.filter(queue="sound").exists(), 20)
        for name in LIMITS:
            queues.damaged[name].add(2, id="a new one")
        wait_for(lambda: not models.Job.objects.filter(key="a new one").exists(), 20)
    finally:
        worker.stop()

    assert "stumbled" not in caplog.text
