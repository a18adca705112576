"""What a process declared, and how a handler is to be called."""

from __future__ import annotations

from typing import Any

import pytest

from tinystore_django import Store
from tinystore_django.registry import declared, find


class Calls:
    def both(self, value: str, run: object) -> None: ...

    def value_alone(self, value: str) -> None: ...

    async def __call__(self, value: str, run: object = None) -> None: ...


@pytest.mark.parametrize(
    ("fn", "takes_run", "is_async"),
    [
        (lambda value: None, False, False),
        (lambda value, run: None, True, False),
        (lambda value, run=None: None, True, False),
        (lambda value, *, run=None: None, False, False),
        (lambda *arguments: None, True, False),
        (lambda: None, True, False),
        (Calls().both, True, False),
        (Calls().value_alone, False, False),
        (Calls(), True, True),
        (print, True, False),
        (dict.get, True, False),
        (str, False, False),  # has no signature to look at
        ([].append, False, False),
    ],
)
def test_a_handler_is_called_with_the_run_where_it_takes_one(
    fn: Any, takes_run: bool, is_async: bool, shop: Store
) -> None:
    handler = shop.queue("emails")._declaration.handler_of(fn)

    assert (handler.takes_run, handler.is_async, handler.atomic) == (takes_run, is_async, False)


@pytest.mark.parametrize(("fn", "takes_run"), [(lambda: None, False), (lambda run: None, True)])
def test_a_schedules_handler_takes_the_run_or_nothing(fn: Any, takes_run: bool, shop: Store) -> None:
    assert shop.schedule("nightly", every="1h")._declaration.handler_of(fn).takes_run is takes_run


def test_what_is_declared_is_found_by_its_database_and_name(shop: Store) -> None:
    emails = shop.queue("registry-emails")._declaration

    assert emails in list(declared())
    assert find("default", "registry-emails") is emails
    assert find("other", "registry-emails") is None
    assert find("default", "registry-orders") is None


def test_what_a_project_declares_in_its_jobs_modules_is_there() -> None:
    assert find("default", "marks") is not None


def test_a_handler_for_one_call_leaves_the_declaration_as_it_was(shop: Store) -> None:
    emails = shop.queue("emails")._declaration

    given = emails.handled_by(print)

    assert given.handler is not None
    assert (given.handler.fn, emails.handler) == (print, None)
