"""Rows past their keep are deleted, in batches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.byhand import Hand
from tinystore_django import Queue, models
from tinystore_django.lifecycle import clearing
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def test_rows_past_their_keep_go_and_others_stay(emails: Queue[Any], hand: Hand, clock: Clock) -> None:
    for key in ("done", "failed", "waiting"):
        emails.add(key, id=key)
    done, failed = hand.take(emails, 2)
    hand.end(done)
    hand.end(failed, "failed")

    cleared = []
    for span in ("0s", "1h", "6d", "23h"):
        clock.advance(span)
        cleared.append(clearing.clear("default"))

    assert cleared == [0, 1, 0, 1]
    assert [row.key for row in models.Job.objects.all()] == ["waiting"]


def test_one_batch_is_deleted_at_a_time(
    emails: Queue[Any], hand: Hand, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clearing, "BATCH", 2)
    for _ in range(3):
        emails.add("a")
    for held in hand.take(emails, 3):
        hand.end(held, "failed")
    clock.advance("7d")

    assert [clearing.clear("default") for _ in range(3)] == [2, 1, 0]
