"""What a process declared, and how a handler is to be called."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import pytest

from tinystore_django import InvalidError, Store
from tinystore_django.registry import declared, find


class Calls:
    def both(self, value: str, run: object) -> None: ...

    def value_alone(self, value: str) -> None: ...

    async def __call__(self, value: str, run: object = None) -> None: ...


def wrapped(fn: Any) -> Any:
    @wraps(fn)
    def call(*arguments: Any) -> Any:
        return fn(*arguments)

    return call


def alone(fn: Any) -> Any:
    """A wrapper that takes the value, whatever it wraps."""

    @wraps(fn)
    def call(value: Any) -> Any:
        return fn(value, None)

    return call


@pytest.mark.parametrize(
    ("fn", "takes_run", "is_async"),
    [
        (lambda value: None, False, False),
        (lambda value, run: None, True, False),
        (lambda value, run=None: None, True, False),
        (lambda value, *, run=None: None, False, False),
        (lambda *arguments: None, True, False),
        (wrapped(lambda value, run: None), True, False),
        (wrapped(lambda value: None), False, False),
        (alone(lambda value, run: None), False, False),
        (partial(lambda key, value: None, 1), False, False),
        (lambda value, run, more=None: None, True, False),
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


NO_HANDLERS = {
    "nothing": (lambda: None, r"takes \(\): write it as \(value\) or \(value, run\)"),
    "three": (lambda value, run, more: None, r"takes \(value, run, more\): write"),
    "three behind a wrapper": (wrapped(lambda value, run, more: None), r"takes \(value, run, more\): write"),
    "a keyword": (lambda value, *, key: None, r"takes \(value, \*, key\): write"),
    "a default": (lambda value, dry=False: None, "would get the run as 'dry', which has a default: name it run"),
    "a wrapped default": (wrapped(lambda value, dry=False: None), "would get the run as 'dry'"),
    "run as the third": (lambda value, more, run=None: None, r"takes \(value, more, run=None\): .* as 'more', write"),
    "run as the first": (lambda run, value: None, r"takes \(run, value\): .* as 'value', write"),
    "run by its name": (
        lambda value, more, *, run=None: None,
        r"takes \(value, more, \*, run=None\): .* as 'more', write",
    ),
}


@pytest.mark.parametrize(("fn", "why"), NO_HANDLERS.values(), ids=NO_HANDLERS.keys())
def test_a_function_that_cannot_be_called_as_a_handler_is_refused_where_it_is_declared(
    fn: Any, why: str, shop: Store
) -> None:
    emails = shop.queue("emails")

    with pytest.raises(InvalidError, match=rf"handler .*test_registry.py:\d+\) of queue 'emails' {why}"):
        emails.handler(fn)
    for call in (emails.run_due, emails.work):
        with pytest.raises(InvalidError, match=why):
            call(fn)
    assert emails._declaration.handler is None


@pytest.mark.parametrize(
    "fn", [lambda one, two: None, lambda days=7: None, lambda *, days: None, lambda days, run=None: None]
)
def test_a_function_that_cannot_be_called_as_a_schedules_handler_is_refused(fn: Any, shop: Store) -> None:
    nightly = shop.schedule("nightly", every="1h")

    with pytest.raises(InvalidError, match="of schedule 'nightly'"):
        nightly.handler(fn)


def test_a_second_handler_is_told_where_the_first_is(shop: Store) -> None:
    emails = shop.queue("emails")
    emails.handler(lambda value: None)

    with pytest.raises(InvalidError, match=r"has a handler already, .*<lambda> \(.*test_registry.py:\d+\)"):
        emails.handler(lambda value: None)


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
