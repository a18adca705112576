"""What the tests of lists and of many jobs share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from django.db import transaction

from tinystore_django import JobPage, Queue

# What the calls of a test stand in.
alone_and_inside_atomic = pytest.mark.parametrize(
    "block", [nullcontext, transaction.atomic], ids=["alone", "inside atomic"]
)

# In the order of their bytes, which is not that of any language, nor of UTF-16.
IN_ORDER = [
    " ", "!", "10", "2", "A", "Z", "_", "a", "a b", "aa", "b", "z", "\x7f", "Ä", "é", "ß", "z\u0300",
    "\u20ac", "\ud7ff", "\ue000", "\uffff", "🐍", "🐍a", "🦊", "\U0010ffff", "\U0010ffffa",
]  # fmt: skip


def ids(page: JobPage[Any]) -> list[str | None]:
    return [job.id for job in page.jobs]


def add_all(queue: Queue[Any], some: list[str], value: Any = None) -> None:
    for id in some:
        queue.add(id if value is None else value, id=id)


def pages(queue: Queue[Any], **asked: Any) -> Iterator[JobPage[Any]]:
    """Every page, each asked for with the `next` of the one before."""
    page = queue.list(**asked)
    yield page
    while page.next is not None:
        page = queue.list(**{**asked, "after": page.next})
        yield page
