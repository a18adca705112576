"""What a worker makes ready before anything runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.db import connection

from tests.programs import wait_for
from tinystore_django import Store
from tinystore_django.worker.worker import Worker

pytestmark = pytest.mark.django_db(transaction=True)

KEEPS_OUT = {
    "sqlite": [
        """create trigger keeps_out before insert on tinystore_django_job when new.queue = 'broken'
           begin select raise(ignore); end"""
    ],
    "postgresql": [
        "create function keeps_out() returns trigger language plpgsql as 'begin return null; end'",
        """create trigger keeps_out before insert on tinystore_django_job for each row
           when (new.queue = 'broken') execute function keeps_out()""",
    ],
}
LETS_IN = {"sqlite": "drop trigger keeps_out", "postgresql": "drop function keeps_out cascade"}


@pytest.fixture
def kept_out() -> Iterator[list[str]]:
    """The schedule `broken` cannot be opened, until what is given is run."""
    _run([*KEEPS_OUT[connection.vendor]])
    left = [LETS_IN[connection.vendor]]
    yield left
    _run(left)


def _run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        while statements:
            cursor.execute(statements.pop(0))


def test_a_schedule_that_cannot_be_opened_is_said_and_holds_up_nothing_else(
    kept_out: list[str], shop: Store, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    names = ("broken", "well")
    schedules = [shop.schedule(name, every="1h") for name in names]
    queue = shop.queue("emails", str)
    declarations = [one._declaration.handled_by(lambda: None) for one in schedules]
    queue.add("a")

    with (
        caplog.at_level(logging.ERROR, "tinystore_django"),
        Worker([*declarations, queue._declaration.handled_by(ran.append)], lease=600_000).start(),
    ):
        wait_for(lambda: ran == ["a"])
        before = [schedule.get() is not None for schedule in schedules]
        _run(kept_out)
        wait_for(lambda: schedules[0].get() is not None)

    assert before == [False, True]
    (said,) = [one.getMessage() for one in caplog.records]
    assert said.startswith("schedule broken cannot be opened, and does not run: job 'broken' of queue 'broken'")
