"""Connections that die, or that a handler leaves as no other handler should find them."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from django.db import connection

from tests.programs import wait_for, worker
from tests.project.jobs import marks
from tests.project.jobs_connections import DAMAGES, cuts, damages, kept_loads, loads, weighed
from tests.project.models import Mark, Order
from tests.races.helpers import marked, names, once, settled, terminate, warnings, with_database
from tinystore_django import Store
from tinystore_django.databases import database
from tinystore_django.models import Job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

APPLICATION = "tinystore-test"
ONLY = {
    "set_search_path": pytest.mark.postgresql,
    "set_role": pytest.mark.postgresql,
    "set_pragma": pytest.mark.sqlite,
}


@pytest.fixture
def named(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """What PostgreSQL calls the connections of the programs that this test starts, and not the test's own."""
    connection.ensure_connection()
    monkeypatch.setenv("PGAPPNAME", APPLICATION)
    return APPLICATION


@pytest.mark.postgresql
def test_a_worker_whose_idle_connections_are_ended_runs_the_next_job_at_once(named: str) -> None:
    some = names(12)
    with worker("marks") as one:
        one.wait_for_line("runs marks")
        for name in some:
            time.sleep(random.uniform(0, 0.3))
            terminate(named)
            time.sleep(0.1)
            marks.add(name)
            wait_for(lambda name=name: Mark.objects.filter(name=name).exists(), 10)
        assert one.code is None
        wait_for(lambda: not Job.objects.exists())

    assert marked() == once(some)
    assert len(warnings(one)) <= 1


@pytest.mark.postgresql
def test_a_worker_whose_connections_are_all_ended_under_load_loses_nothing(named: str) -> None:
    some = names(250)
    for name in some:
        loads.add(name)
    with worker("loads", "--lease=5s") as one:
        one.wait_for_line("runs loads")
        for _ in range(8):
            wait_for(lambda: terminate(named) > 1)
            time.sleep(random.uniform(0.02, 0.1))
        wait_for(lambda: not Job.objects.exists(), 60)
        assert one.code is None

    assert {name for name, _ in marked()} == set(some)
    assert set(marked().values()) == {1}  # each attempt left its mark once at the most
    assert len(warnings(one)) <= 1


@pytest.mark.postgresql
def test_a_connection_ended_between_the_handlers_end_and_the_settle_costs_a_retry_at_the_most(named: str) -> None:
    with worker("cuts", "marks", "--lease=3s") as one:
        one.wait_for_line("runs")
        for name in names(4):
            cuts.add(name, id=name)
            job = settled(cuts, name)
            assert job.state == "done"
            assert Mark.objects.filter(name=name).count() == job.attempt <= 3
        marks.add("after")
        wait_for(lambda: Mark.objects.filter(name="after").exists())
        assert one.code is None


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=ONLY.get(kind, ())) for kind in DAMAGES])
def test_a_connection_left_damaged_is_mended_before_the_next_run(kind: str) -> None:
    with damages.work() as one:
        damages.add("before", id="before")
        settled(damages, "before")
        damages.add(kind, id=kind)
        broken = settled(damages, kind)
        time.sleep(0.1)  # until its thread is idle, and so the one that runs the probe
        damages.add("after", id="after")
        probe = settled(damages, "after")
        wait_for(lambda: one.settled == 3)

    assert (broken.state, broken.attempt, broken.error) == ("done", 1, None)
    assert (probe.state, probe.attempt, probe.error) == ("done", 1, None)
    assert Order.objects.count() == 0  # what was half made was rolled back
    assert len(set(Mark.objects.values_list("process", flat=True))) == 1


@pytest.mark.postgresql
@pytest.mark.parametrize("age", [0, 1, None])
@pytest.mark.parametrize("checked", [True, False])
def test_no_setting_of_kept_connections_gives_a_run_a_dead_one(tmp_path: Path, age: int | None, checked: bool) -> None:
    some = names(100)
    settings = with_database(tmp_path, CONN_MAX_AGE=age, CONN_HEALTH_CHECKS=checked)
    for name in some[:70]:
        loads.add(name)
    for name in some[70:]:
        loads.add(name, delay="1s")  # past the age of 1 s

    with worker("loads", **settings) as one:
        wait_for(lambda: not Job.objects.exists())
        assert one.code is None

    assert marked() == once(some)
    assert warnings(one) == []


def test_the_log_of_queries_that_debug_keeps_does_not_grow(tmp_path: Path) -> None:
    some = names(600)
    for name in some:
        weighed.add(name)
    settings = with_database(tmp_path, "DEBUG = True")

    with worker("weighed", "--until-idle", "--no-reload", **settings) as one:
        assert one.wait() == 0

    weights = list(Mark.objects.order_by("pk").values_list("process", flat=True))
    assert len(weights) == len(some)
    assert set(Mark.objects.values_list("attempt", flat=True)) == {0}  # nothing was logged before its own queries
    assert max(weights) - weights[50] < 10_000  # KiB


def test_the_workers_own_threads_keep_no_log_of_queries(settings: object, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    let_go = "tinystore_django.worker.loop.let_go"
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.queries_logged", True)

    from tinystore_django.worker import loop

    original = loop.let_go

    def look(alias: str) -> None:
        before = len(database(alias).connection.queries_log)
        original(alias)
        seen.append((before, len(database(alias).connection.queries_log)))

    monkeypatch.setattr(let_go, look)
    queue = Store().queue("logged", dedupe="1h")
    queue.add(1, id="a")
    with queue.work(lambda value: None):
        settled(queue, "a")

    assert {after for _, after in seen} == {0}
    assert any(before for before, _ in seen)


@pytest.mark.postgresql
@pytest.mark.parametrize("most", [2, 4])
def test_a_worker_of_eight_shares_djangos_pool_of_fewer_connections(tmp_path: Path, most: int) -> None:
    pytest.importorskip("psycopg_pool")
    some = names(100)
    for name in some:
        loads.add(name)
    settings = with_database(tmp_path, OPTIONS={"pool": {"min_size": 1, "max_size": most, "timeout": 20}})

    with worker("loads", "--until-idle", "--lease=1s", **settings) as one:
        assert one.wait(60) == 0

    assert marked() == once(some)
    assert warnings(one) == []


@pytest.mark.postgresql
def test_the_connections_of_djangos_pool_may_all_be_ended(tmp_path: Path, named: str) -> None:
    settings = with_database(tmp_path, CONN_HEALTH_CHECKS=True, OPTIONS={"pool": {"min_size": 1, "max_size": 4}})
    with worker("loads", **settings) as one:
        one.wait_for_line("runs loads")
        for name in names(3):
            wait_for(lambda: terminate(named))
            loads.add(name)
            wait_for(lambda name=name: Mark.objects.filter(name=name).exists(), 20)
        wait_for(lambda: not Job.objects.exists())
        assert one.code is None


@pytest.mark.postgresql
@pytest.mark.parametrize(("where", "chosen"), [("the project", "SERIALIZABLE"), ("the server", "REPEATABLE_READ")])
def test_workers_contend_in_peace_whatever_isolation_was_chosen(tmp_path: Path, where: str, chosen: str) -> None:
    some = names(200)
    for name in some:
        kept_loads.add(name, id=name)
    if where == "the project":
        level = f"from psycopg import IsolationLevel\nlevel = IsolationLevel.{chosen}"
        settings = with_database(tmp_path, f'{level}\nDATABASES["default"]["OPTIONS"] = {{"isolation_level": level}}')
    else:
        level = chosen.lower().replace("_", r"\ ")
        settings = with_database(tmp_path, OPTIONS={"options": f"-c default_transaction_isolation={level}"})

    arguments = ["kept-loads", "--until-idle"]
    with worker(*arguments, **settings) as one, worker(*arguments, **settings) as other:
        assert (one.wait(60), other.wait(60)) == (0, 0)

    assert marked() == once(some)
    assert [*warnings(one), *warnings(other)] == []
