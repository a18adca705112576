"""in_, and the warning of a job that would not commit with its rows."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, connections, transaction

from tests.byhand import rolled_back
from tinystore_django import InvalidError, Queue, Store
from tinystore_django.registry import Registry

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    return shop.queue("emails")


@pytest.fixture
def elsewhere() -> Any:
    store = Store(using="other")
    yield store.queue("elsewhere")
    store._registry.declarations.clear()


# in_


def test_in_takes_the_module_an_alias_or_a_connection(emails: Queue[Any]) -> None:
    for within in (transaction, "default", connection, connections["default"]):
        with transaction.atomic():
            inside = emails.in_(within)
            assert inside.name == "emails"
            assert inside.add("a", id="x") is True
            assert inside.update("x", "b") is True
            inside.set("x", "c")
            assert inside.get("x").value == "c"  # type: ignore[union-attr]
            assert inside.cancel("x") is True


def test_what_in_adds_goes_with_the_rollback(emails: Queue[Any]) -> None:
    with rolled_back():
        emails.in_(transaction).add("a", id="x")

    assert emails.get("x") is None


def test_in_without_an_atomic_block_is_refused(emails: Queue[Any]) -> None:
    for within in (transaction, "default", connection):
        with pytest.raises(InvalidError) as refused:
            emails.in_(within)

        assert str(refused.value) == (
            "in_ of queue 'emails', which is in database 'default': no atomic block is open on 'default'; "
            "write `with transaction.atomic(using='default'):`"
        )


def test_in_with_a_block_open_on_another_database_only_is_refused_naming_both(emails: Queue[Any]) -> None:
    with transaction.atomic(using="other"), pytest.raises(InvalidError, match="'default', only on 'other'; write"):
        emails.in_(transaction)


def test_in_of_another_database_is_refused_naming_both(emails: Queue[Any]) -> None:
    text = "in database 'default': the transaction given is of 'other'; only one of"
    with transaction.atomic(), transaction.atomic(using="other"):
        for within in ("other", connections["other"]):
            with pytest.raises(InvalidError, match=text):
                emails.in_(within)


def test_in_of_what_is_no_transaction_is_refused(emails: Queue[Any]) -> None:
    text = "give django.db.transaction, an alias of DATABASES or a connection"
    with transaction.atomic():
        for within in (None, 7, "nowhere", transaction.atomic, object()):
            with pytest.raises(InvalidError, match=text):
                emails.in_(within)
        assert emails.add("a")


def test_each_call_after_the_block_has_ended_is_refused(emails: Queue[Any]) -> None:
    with transaction.atomic():
        inside = emails.in_(transaction)

    for call in (
        lambda: inside.add("a"),
        lambda: inside.set("x", "a"),
        lambda: inside.update("x", "a"),
        lambda: inside.cancel("x"),
        lambda: inside.get("x"),
    ):
        with pytest.raises(InvalidError, match="no atomic block is open on 'default'"):
            call()


def test_in_leaves_the_queue_itself_as_it_was(emails: Queue[Any]) -> None:
    with transaction.atomic():
        emails.in_(transaction)

    assert emails.add("a") is True


def test_in_of_a_store_on_another_database_takes_its_transaction(elsewhere: Queue[Any]) -> None:
    with rolled_back("other"):
        elsewhere.in_("other").add("a", id="x")

    assert elsewhere.get("x") is None


# Another database's block.


def add_here(queue: Queue[Any]) -> None:
    queue.add("a")


def warned(caught: list[warnings.WarningMessage]) -> list[tuple[type[Warning], str, str]]:
    return [(one.category, str(one.message), one.filename) for one in caught]


def test_an_add_in_another_databases_block_alone_warns_once_a_call_site(emails: Queue[Any]) -> None:
    with warnings.catch_warnings(record=True) as caught, transaction.atomic(using="other"):
        warnings.simplefilter("always")
        for _ in range(3):
            add_here(emails)
        first = warned(caught)
        emails.set("x", "a")

    text = (
        "queue 'emails' is in database 'default', and the open atomic block is on 'other': "
        "the job does not commit with its rows"
    )
    assert first == [(RuntimeWarning, text, __file__)]
    assert len(caught) == 2
    assert caught[0].lineno == add_here.__code__.co_firstlineno + 1


async def aadd_here(queue: Queue[Any]) -> None:
    await queue.aadd("a")


async def aadd_there(queue: Queue[Any]) -> None:
    await queue.aadd("a")


def test_so_does_an_async_add(emails: Queue[Any]) -> None:
    with warnings.catch_warnings(record=True) as caught, transaction.atomic(using="other"):
        warnings.simplefilter("always")
        for call in (aadd_here, aadd_there, aadd_here):
            async_to_sync(call)(emails)

    lines = [call.__code__.co_firstlineno + 1 for call in (aadd_here, aadd_there)]
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, line) for line in lines]


def test_an_add_in_its_own_block_or_in_none_does_not_warn(emails: Queue[Any], elsewhere: Queue[Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        emails.add("a")
        with transaction.atomic(), transaction.atomic(using="other"):
            emails.add("a")
            elsewhere.add("a")

    assert caught == []


# Which database.


def test_a_store_of_an_alias_has_its_jobs_there(elsewhere: Queue[Any], shop: Store) -> None:
    here = shop.queue("elsewhere")
    elsewhere.add("a", id="x")

    assert (here.get("x"), elsewhere.get("x").value) == (None, "a")  # type: ignore[union-attr]
    assert elsewhere.run_due(lambda value: None) == 1
    assert elsewhere.get("x") is None


class ToOther:
    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "other" if model._meta.app_label == "tinystore_django" else None


def test_a_store_without_an_alias_follows_the_projects_routers(
    emails: Queue[Any], elsewhere: Queue[Any], settings: Any
) -> None:
    settings.DATABASE_ROUTERS = [ToOther()]
    emails.add("a", id="x")
    settings.DATABASE_ROUTERS = []

    assert emails.get("x") is None
    assert Registry("other").alias == "other"
    with transaction.atomic(using="other"):
        settings.DATABASE_ROUTERS = [ToOther()]
        assert emails.in_("other").get("x").value == "a"  # type: ignore[union-attr]
