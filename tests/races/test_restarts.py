"""A PostgreSQL of one's own: restarted under a worker, which costs a pause and nothing else; and spoken to by TLS."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection, connections
from pytest_django import DjangoDbBlocker

from tests.postgres import UNPRIVILEGED, Postgres, parse
from tests.postgres_programs import parent_folder
from tests.programs import wait_for, worker
from tests.project.jobs import marks
from tests.project.jobs_connections import forks, loads
from tests.project.models import Mark, Order
from tests.races.helpers import marked, names, once, settled, warnings, with_database
from tinystore_django.models import Job, Lease

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


@contextmanager
def tls() -> Iterator[tuple[str, ...]]:
    """The options of a PostgreSQL that speaks TLS, with a certificate of its own; none where there is no openssl."""
    if shutil.which("openssl") is None:
        yield ()
        return
    with tempfile.TemporaryDirectory(prefix="tinystore-tls-", dir=parent_folder()) as made:
        folder, (key, certificate) = Path(made), (Path(made) / "key", Path(made) / "certificate")
        command = ["openssl", "req", "-new", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
        key.chmod(0o600)
        if os.geteuid() == 0:
            for file in (folder, key, certificate):
                os.chown(file, UNPRIVILEGED, UNPRIVILEGED)
        yield ("-c", "ssl=on", "-c", f"ssl_key_file={key}", "-c", f"ssl_cert_file={certificate}")


@pytest.fixture(scope="module")
def own(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Postgres]:
    """A server that these tests may restart, for this process and the programs it starts."""
    with ExitStack() as stack:
        server = stack.enter_context(Postgres(tcp=True, options=stack.enter_context(tls())))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        stack.enter_context(django_db_blocker.unblock())
        connection.close()
        for name, value in parse(server.url).items():
            patch.setitem(connections["default"].settings_dict, name, value)
        patch.setenv("TINYSTORE_TEST_DATABASE_URL", server.url)
        patch.setenv("TINYSTORE_TEST_NAMES", '{"default": "postgres"}')
        call_command("migrate", run_syncdb=True, verbosity=0)
        yield server
        connection.close()


@pytest.fixture
def server(own: Postgres) -> Iterator[Postgres]:
    """The same with no rows in it."""
    yield own
    connection.close()
    own.restart()
    for model in (Job, Lease, Mark, Order):
        model.objects.all().delete()


def add(some: list[str]) -> None:
    for name in some:
        loads.add(name)


def assert_none_lost_and_none_doubled_beyond_a_retry(some: list[str]) -> None:
    assert {name for name, _ in marked()} == set(some)
    assert set(marked().values()) == {1}  # no attempt ran twice


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "as in a crash"])
def test_a_restart_under_load_loses_nothing_and_no_worker(server: Postgres, how: signal.Signals) -> None:
    some = names(300)
    add(some)

    # Longer than two restarts of a server on a machine that is busy take.
    with worker("loads", "--lease=30s") as one, worker("loads", "--lease=30s") as other:
        for _ in range(2):
            seen = Mark.objects.count()
            wait_for(lambda seen=seen: Mark.objects.count() > seen + 20)
            connection.close()
            server.restart(how)
        wait_for(lambda: not Job.objects.exists(), 60)
        assert (one.code, other.code) == (None, None)
        one.send(signal.SIGTERM)
        other.send(signal.SIGTERM)
        assert (one.wait(), other.wait()) == (0, 0)

    assert_none_lost_and_none_doubled_beyond_a_retry(some)
    for program in (one, other):
        assert len(warnings(program)) <= 1  # none, where the server was back before it was missed
        assert all("going on as soon as it answers" in line for line in warnings(program))
        assert program.said("Traceback") == []


def test_a_server_that_is_away_for_a_while_is_waited_for(server: Postgres) -> None:
    with worker("loads", "--lease=2s") as one:
        one.wait_for_line("runs loads")
        connection.close()
        server.stop()
        time.sleep(3)  # past the lease
        server.start()
        add(["after"])
        wait_for(Mark.objects.exists)
        wait_for(lambda: not Job.objects.exists())
        assert one.code is None

    assert marked() == {("after", 1): 1}


def test_a_worker_started_before_its_server_waits_for_it(server: Postgres) -> None:
    add(["early"])
    connection.close()
    server.stop()

    with worker("loads") as one:
        one.wait_for_line("going on as soon as it answers")
        server.start()
        wait_for(Mark.objects.exists)
        assert one.code is None


def test_djangos_pool_outlives_a_restart(server: Postgres, tmp_path: Path) -> None:
    pytest.importorskip("psycopg_pool")
    some = names(200)
    settings = with_database(tmp_path, OPTIONS={"pool": {"min_size": 1, "max_size": 4}})
    add(some)

    with worker("loads", "--lease=10s", **settings) as one:
        wait_for(Mark.objects.exists)
        connection.close()
        time.sleep(random.uniform(0, 0.2))
        server.restart()
        wait_for(lambda: not Job.objects.exists(), 60)
        assert one.code is None

    assert_none_lost_and_none_doubled_beyond_a_retry(some)


# PostgreSQL only. SQLite itself forbids it: a child inherits the library's notes of the locks that threads held.
def test_a_child_that_a_handler_forks_leaves_the_connection_to_its_parent(server: Postgres, tmp_path: Path) -> None:
    some = names(20)
    how = "require" if shutil.which("openssl") else "prefer"

    with worker("forks", "marks", "--concurrency=2", **with_database(tmp_path, OPTIONS={"sslmode": how})) as one:
        for name in some:
            forks.add(name, id=name)
            marks.add(f"plain {name}")
        jobs = [settled(forks, name, 60) for name in some]
        wait_for(lambda: Mark.objects.count() == 2 * len(some))
        assert one.code is None

    assert {(job.state, job.error) for job in jobs} == {("done", None)}
    assert marked() == once([*some, *(f"plain {name}" for name in some)])
    assert Order.objects.count() == len(some)
    assert warnings(one) == []
    log = server_log()
    assert "unexpected message type" not in log
    assert "bad record mac" not in log
    assert "ready to accept connections" in log


def server_log() -> str:
    with connection.cursor() as cursor:
        cursor.execute("select pg_read_file(current_setting('data_directory') || '/../log')")
        return str(cursor.fetchone()[0])
