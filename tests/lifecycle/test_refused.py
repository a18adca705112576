"""What a run ended in may be nothing that the database takes: it is settled alone, and all else at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, connection, transaction

from tests.byhand import Hand
from tests.programs import wait_for
from tinystore_django import Queue, Store, models
from tinystore_django.databases.troubles import is_refusal
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.aftermath import Ending
from tinystore_django.lifecycle.asking import Asked
from tinystore_django.lifecycle.claiming import turn
from tinystore_django.lifecycle.settling import Finished
from tinystore_django.testing import Clock
from tinystore_django.worker.worker import Worker

pytestmark = pytest.mark.django_db(transaction=True)

SMILE = "no luck \U0001f600"
# As a database of another encoding: no error that is not of ASCII, nor one with this word.
REFUSES = {
    "sqlite": [
        """create trigger refuses before update on tinystore_django_job
           when length(cast(new.error as blob)) <> length(new.error) or new.error like '%never%'
           begin select raise(abort, 'no such sign'); end"""
    ],
    "postgresql": [
        """create function refuses() returns trigger language plpgsql as
           $$ begin raise exception 'no such sign' using errcode = '22P05'; end $$""",
        """create trigger refuses before update on tinystore_django_job for each row
           when (octet_length(new.error) <> length(new.error) or new.error like '%never%')
           execute function refuses()""",
    ],
}
ACCEPTS = {"sqlite": "drop trigger refuses", "postgresql": "drop function refuses cascade"}


@pytest.fixture
def refuses() -> Iterator[None]:
    with connection.cursor() as cursor:
        for sql in REFUSES[connection.vendor]:
            cursor.execute(sql)
    yield
    with connection.cursor() as cursor:
        cursor.execute(ACCEPTS[connection.vendor])


@pytest.fixture
def emails(refuses: None, shop: Store, clock: Clock) -> Queue[Any]:
    return shop.queue("emails", str, attempts=1)


def fail(text: str) -> Any:
    raise ValueError(text)


def errors() -> dict[str | None, Any]:
    return {job.key: (job.state, job.error) for job in models.Job.objects.order_by("id")}


@pytest.mark.parametrize("limit", [None, 2])
def test_the_others_of_a_round_are_settled_at_once_and_it_claims(
    limit: int | None, refuses: None, shop: Store, hand: Hand
) -> None:
    emails = shop.queue("emails", str, attempts=1, concurrency=limit)
    options = emails._declaration.options
    emails.add_many(["a", "b", "c"], id=str)
    held = hand.take(emails, 2)
    ends = [Ending("retry", SMILE, f"File x\n{SMILE}"), Ending("done")]
    finished = [Finished(one, end, options) for one, end in zip(held, ends, strict=True)]

    settling, claimed = turn(
        "default", hand.lease, finished, Asked({"emails": 2}, {"emails": options} if limit else {}, held)
    )

    assert (dict(settling.outcomes), list(settling.left)) == ({held[0].fence: "failed", held[1].fence: "done"}, [])
    assert claimed is not None
    assert [one.key for one in claimed.held] == ["c"]
    assert errors() == {"a": (models.Job.State.FAILED, "no luck \\U0001f600"), "c": (models.Job.State.RUNNING, None)}
    assert models.Job.objects.get(key="a").traceback == "File x\nno luck \\U0001f600"


def test_what_is_refused_in_ascii_too_has_failed_and_says_so(emails: Queue[Any]) -> None:
    emails.add("never", id="x")

    assert emails.run_due(fail) == 1

    assert errors() == {"x": (models.Job.State.FAILED, "its end was refused: no such sign")}


@pytest.mark.parametrize("atomic", [False, True])
def test_so_it_is_inside_a_transaction_which_goes_on(atomic: bool, emails: Queue[Any]) -> None:
    emails.handler(lambda value, run: run.fail(value), atomic=atomic) if atomic else emails.handler(fail)
    with transaction.atomic():
        emails.add(SMILE, id="x")
        assert emails.run_due() == 1
        emails.add("b", id="y", delay="1h")

    assert errors() == {
        "x": (models.Job.State.FAILED, "no luck \\U0001f600"),
        "y": (models.Job.State.READY, None),
    }


def test_a_worker_goes_on_past_it(emails: Queue[Any], shop: Store) -> None:
    ran: list[Any] = []
    other = shop.queue("other", str)
    emails.add(SMILE, id="x")
    other.add_many(["a", "b", "c"])

    declarations = [emails._declaration.handled_by(fail), other._declaration.handled_by(ran.append)]
    Worker(declarations, until_idle=True).start().wait(20)

    assert sorted(ran) == ["a", "b", "c"]
    assert errors() == {"x": (models.Job.State.FAILED, "no luck \\U0001f600")}


def test_jobs_of_a_lost_worker_are_taken_back_though_one_is_refused(
    emails: Queue[Any], hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    emails.add_many(["a", "b"], id=str)
    hand.take(emails, 2)
    leasing.give_up("default", hand.lease)
    monkeypatch.setattr(leasing, "LOST", "the worker was lost…")

    lost = leasing.sweep("default", lambda queue: emails._declaration.options)

    assert sorted(lost.values()) == ["failed", "failed"]
    assert errors()["a"] == (models.Job.State.FAILED, "the worker was lost\\u2026")


@pytest.mark.postgresql
def test_what_a_trigger_raises_at_one_job_holds_up_no_other(shop: Store) -> None:
    """`raise exception` without a code of its own, as most triggers have it, is a ProgrammingError to the driver."""
    with connection.cursor() as cursor:
        cursor.execute(
            """create function refuses() returns trigger language plpgsql as
               $$ begin if old.queue = 'emails' then raise exception 'keep it'; end if; return old; end $$"""
        )
        cursor.execute(
            """create trigger refuses before delete on tinystore_django_job for each row execute function refuses()"""
        )
    ran: list[str] = []
    kept, others = shop.queue("emails", str, attempts=1), shop.queue("others", str)
    kept.add("a", id="x")
    declarations = [kept._declaration.handled_by(lambda value: None), others._declaration.handled_by(ran.append)]
    try:
        with Worker(declarations).start():
            others.add("b")
            wait_for(lambda: ran == ["b"])
            wait_for(lambda: (job := kept.get("x")) is not None and job.state == "failed")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(ACCEPTS["postgresql"])

    assert (job := kept.get("x")) is not None
    assert job.error == "its end was refused: keep it"


@pytest.mark.postgresql
def test_a_table_that_is_not_there_refuses_no_run() -> None:
    with pytest.raises(ProgrammingError) as raised, connection.cursor() as cursor:
        cursor.execute("select 1 from gone")

    assert not is_refusal(raised.value)
