"""A running job's progress on its page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import Pages
from tests.byhand import Hand, row
from tinystore_django import Queue
from tinystore_django.lifecycle import stepping

pytestmark = pytest.mark.django_db


def test_a_running_jobs_page_shows_its_progress_as_text_and_a_later_one_does_not(
    emails: Queue[Any], hand: Hand, opened: Pages
) -> None:
    emails.add("a", id="x")
    held = hand.take_one(emails)
    before = opened(row()).field("progress_shown")
    stepping.report("default", held.fence, '{"at":"<script>"}')
    page = opened(row())
    hand.end(held, "retry", delay=0, reported=True)

    assert before == "-"
    assert page.field("progress_shown").endswith('{\n  "at": "<script>"\n}')
    assert "&lt;script&gt;" in page.html
    assert opened(row()).field("progress_shown") == "-"
