"""A row that is in conflict with another, though not by its id; and one that the database does not keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from tests.byhand import NOON
from tinystore_django import ConflictError, Queue, Schedule, Store, models

pytestmark = pytest.mark.django_db
postgresql = pytest.mark.postgresql

DROPS = {
    "sqlite": ["create trigger drops before insert on tinystore_django_job begin select raise(ignore); end"],
    "postgresql": [
        "create function drops() returns trigger language plpgsql as 'begin return null; end'",
        "create trigger drops before insert on tinystore_django_job for each row execute function drops()",
    ],
}
# A role to which jobs of some value are not there.
HIDES = """
    create role tenant;
    grant select, insert, update, delete on all tables in schema public to tenant;
    grant usage on all sequences in schema public to tenant;
    alter table tinystore_django_job enable row level security;
    create policy looks on tinystore_django_job for select using (value <> '"a"');
    create policy adds on tinystore_django_job for insert with check (true);
    create policy changes on tinystore_django_job for update using (true);
    set local role tenant
"""

CALLS: dict[str, Callable[[Queue[Any], Schedule], object]] = {
    "add": lambda queue, _: queue.add("a"),
    "add with an id": lambda queue, _: queue.add("a", id="x"),
    "add_many": lambda queue, _: queue.add_many(["a"]),
    "add_many with ids": lambda queue, _: queue.add_many(["a"], id=str),
    "set": lambda queue, _: queue.set("x", "a"),
    "run_due": lambda _, schedule: schedule.run_due(lambda: None),
}


@pytest.fixture
def cleanup(shop: Store) -> Schedule:
    return shop.schedule("cleanup", every="1h")


@pytest.fixture
def behind(emails: Queue[Any]) -> None:
    """The sequence of the primary keys is behind the rows, as after a restore of data alone."""
    execute("select nextval(pg_get_serial_sequence('tinystore_django_job', 'id'))")
    last = connection.cursor().execute("select last_value from tinystore_django_job_id_seq").fetchone()[0]  # type: ignore[attr-defined]
    ahead = [models.Job(id=last + one, queue="others", value="1", at=NOON, due=NOON) for one in range(1, 60)]
    models.Job.objects.bulk_create(ahead)


@pytest.fixture
def drops() -> Iterator[None]:
    """A trigger lets no job in, and says nothing of it."""
    for sql in DROPS[connection.vendor]:
        execute(sql)
    yield
    if connection.vendor == "sqlite":
        execute("drop trigger drops")


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@postgresql
@pytest.mark.parametrize("call", CALLS)
def test_a_conflict_of_the_primary_key_is_no_taken_id(
    call: str, behind: None, emails: Queue[Any], cleanup: Schedule
) -> None:
    with pytest.raises(IntegrityError, match="tinystore_django_job_pkey"), transaction.atomic():
        CALLS[call](emails, cleanup)


@pytest.mark.parametrize("call", [call for call in CALLS if call != "add_many with ids"])
def test_a_row_that_the_database_does_not_keep_is_an_error_and_no_loop(
    call: str, drops: None, emails: Queue[Any], cleanup: Schedule
) -> None:
    with pytest.raises(ConflictError, match="a trigger or a row level security policy"):
        CALLS[call](emails, cleanup)


def test_it_is_one_of_a_bounded_queue_too(drops: None, shop: Store) -> None:
    with pytest.raises(ConflictError):
        shop.queue("few", str, max_waiting=3).add("a")


@postgresql
def test_an_id_that_a_hidden_row_has_is_taken(emails: Queue[Any]) -> None:
    emails.add("a", id="hidden")
    execute(HIDES)

    added = emails.add("b", id="hidden"), emails.add("b", id="seen"), emails.add_many(["hidden", "c"], id=str)

    assert added == (False, True, 1)


@postgresql
def test_set_of_an_id_that_a_hidden_row_has_is_an_error(emails: Queue[Any]) -> None:
    emails.add("a", id="hidden")
    execute(HIDES)

    with pytest.raises(ConflictError, match="'hidden'"):
        emails.set("hidden", "b")


@postgresql
@pytest.mark.parametrize("id", [None, str])
def test_many_are_added_under_row_level_security(id: Any, emails: Queue[Any]) -> None:
    execute(HIDES)

    assert emails.add_many(map(str, range(7_000)), id=id) == 7_000
