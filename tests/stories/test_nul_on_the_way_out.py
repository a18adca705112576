"""What a database cannot keep, on its way out of a handler: the run ends by the rules, and nothing hangs."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.programs import wait_for
from tinystore_django import Backoff, InvalidError, Run, Store, models

pytestmark = pytest.mark.django_db(transaction=True)

CUT = "a" * 4096 + "…"


def raise_odd_text(run: Run) -> None:
    raise ValueError("bad \x00 byte \ud800")


def keep_nul(run: Run) -> None:
    run.step("nul", lambda: "a\x00")


def report_nul(run: Run) -> None:
    run.set_progress({"p": "\x00"})


def raise_long_text(run: Run) -> None:
    raise ValueError("a" * 5_000_000)


KINDS = {one.__name__: one for one in (raise_odd_text, keep_nul, report_nul, raise_long_text)}


def test_every_such_run_fails_by_its_attempts_with_an_error_that_can_be_read(shop: Store, client: Client) -> None:
    queue = shop.queue("odd", str, attempts=2, backoff=Backoff("100ms", "100ms"), concurrency=4)
    ran: list[tuple[str, str]] = []

    @queue.handler
    def handler(kind: str, run: Run) -> None:
        try:
            KINDS[kind](run)
        except Exception as error:
            ran.append((kind, type(error).__name__))
            raise

    queue.add_many(KINDS, id=str)
    with queue.work():
        wait_for(lambda: models.Job.objects.filter(state=models.Job.State.FAILED).count() == len(KINDS))

    errors = {row.key: (row.attempt, row.error) for row in models.Job.objects.all()}
    assert errors == {
        "raise_odd_text": (2, "bad \ufffd byte \ufffd"),
        "keep_nul": (2, "the answer of step 'nul': take out U+0000, which PostgreSQL cannot keep"),
        "report_nul": (2, "progress['p']: take out U+0000, which PostgreSQL cannot keep"),
        "raise_long_text": (2, CUT),
    }
    refused = InvalidError.__name__
    assert sorted(ran) == sorted(
        [
            ("raise_odd_text", "ValueError"),
            ("keep_nul", refused),
            ("report_nul", refused),
            ("raise_long_text", "ValueError"),
        ]
        * 2
    )
    assert not models.Step.objects.exists()
    assert not models.Progress.objects.exists()
    assert "bad \ufffd byte \ufffd" in shown_in_the_admin(client, "raise_odd_text")


def shown_in_the_admin(client: Client, key: str) -> Any:
    client.force_login(User.objects.create_superuser("ada"))
    pk = models.Job.objects.get(key=key).pk
    response = client.get(f"/admin/tinystore_django/job/{pk}/change/")
    assert response.status_code == 200
    return response.content.decode()
