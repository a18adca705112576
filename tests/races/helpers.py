"""What the tests of connections and handlers gone wrong share."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, connections

from tests.programs import Program, other_settings, wait_for
from tests.project.models import Mark
from tinystore_django import Job, Queue


def marked() -> Counter[tuple[str, int]]:
    """How often each attempt of each job has left its mark."""
    return Counter(Mark.objects.values_list("name", "attempt"))


def names(count: int) -> list[str]:
    return [f"job-{number:04}" for number in range(count)]


def once(some: Iterable[str]) -> Counter[tuple[str, int]]:
    """The marks of jobs that each took one attempt."""
    return Counter((name, 1) for name in some)


def settled(queue: Queue[Any], id: str, seconds: float = 30.0) -> Job[Any]:
    """Waits until a job is done or failed; its queue must keep done ones."""

    def look() -> Job[Any] | None:
        job = queue.get(id)
        return job if job is not None and job.state in ("done", "failed") else None

    return wait_for(look, seconds, lambda: f"{id}: {queue.get(id)}")


def with_database(folder: Path, more: str = "", **changes: Any) -> dict[str, Any]:
    """Settings whose default database differs in this from the tests' own, and more code; for `worker`."""
    return other_settings(folder, "changed_settings", f'DATABASES["default"] |= {changes!r}\n{more}')


def warnings(program: Program) -> list[str]:
    return program.said(" WARNING ")


def terminate(application: str) -> int:
    """Ends every connection of that name, as an administrator would; how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = %s", [application]
        )
        return int(cursor.fetchone()[0])


def waits_for_a_lock() -> bool:
    """Whether a connection to the tests' database waits for what another holds."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_stat_clear_snapshot()")  # a transaction sees one state of the activity otherwise
        cursor.execute("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
        return cursor.fetchone() is not None


@contextmanager
def together(work: Callable[[], object]) -> Iterator[None]:
    """Has a thread do some work beside the block; what it raises is raised at the block's end."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert errors == []
