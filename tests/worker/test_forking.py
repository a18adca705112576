"""A child that a handler forks is no worker: it ends where the handler does."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from tinystore_django import Queue, Store

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


def child_of(end: Any) -> int | None:
    """Forks, and ends the child's handler so; to the parent, how the child's process ended."""
    child = os.fork()
    if not child:
        end()
        return None
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def broken() -> None:
    raise ValueError("no luck")


@pytest.mark.parametrize(("end", "code"), [(lambda: None, 0), (broken, 1), (lambda: sys.exit(3), 3), (sys.exit, 0)])
@pytest.mark.parametrize("atomic", [False, True])
def test_a_forked_child_that_leaves_the_handler_ends(end: Any, code: int, atomic: bool, emails: Queue[Any]) -> None:
    codes: list[int | None] = []

    @emails.handler(atomic=atomic)
    def fork(value: str) -> None:
        codes.append(child_of(end))

    emails.add("a", id="x")

    assert emails.run_due() == 1
    assert (codes, emails.get("x")) == ([code], None)


def test_one_of_an_async_handler_does_too(emails: Queue[Any]) -> None:
    codes: list[int | None] = []

    async def fork(value: str) -> None:
        codes.append(child_of(lambda: None))

    emails.add("a", id="x")

    assert emails.run_due(fork) == 1
    assert codes == [0]


def test_a_child_runs_jobs_itself_if_it_asks_to(emails: Queue[Any], shop: Store) -> None:
    other = shop.queue("other")
    other.add("b")
    emails.add("a", id="x")

    def run_others() -> None:
        other.run_due(lambda value: None)
        sys.exit(5)

    codes: list[int | None] = []
    assert emails.run_due(lambda value: codes.append(child_of(run_others))) == 1
    assert codes == [5]
    assert list(other.all()) == []
