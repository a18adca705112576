"""A queue as a program uses it: its twins, its handlers, views and tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path

from tests.byhand import NOON, after
from tests.project.models import Order
from tinystore_django import InvalidError, Queue, Store, models, store, testing
from tinystore_django.testing import Clock, assert_added

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Email:
    to: str


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Email]:
    return shop.queue("emails", Email)


def test_a_queue_names_itself(emails: Queue[Email], shop: Store) -> None:
    assert (emails.name, repr(emails)) == ("emails", "<Queue emails>")
    assert repr(shop.schedule("nightly", every="1d")) == "<Schedule nightly>"


def test_a_value_comes_back_as_its_type(emails: Queue[Email]) -> None:
    seen: list[Any] = []
    emails.add(Email("ada"), id="x")

    assert emails.get("x").value == Email("ada")  # type: ignore[union-attr]
    emails.run_due(seen.append)
    assert seen == [Email("ada")]


def test_a_value_of_another_type_is_refused(emails: Queue[Any]) -> None:
    for value in ("ada", {"to": "ada"}, Email(7)):  # type: ignore[arg-type]
        with pytest.raises(InvalidError, match="^value"):
            emails.add(value)


# Async.


def test_every_call_has_an_async_twin(emails: Queue[Email]) -> None:
    async def life() -> list[Any]:
        return [
            await emails.aadd(Email("a"), id="x", delay="1h", group="g"),
            await emails.aadd(Email("b"), id="x"),
            await emails.aupdate("x", Email("c")),
            await emails.aset("x", Email("d")),
            (await emails.aget("x")).value,  # type: ignore[union-attr]
            await emails.arun_due(lambda value: None),
            await emails.acancel("x"),
            await emails.aget("x"),
        ]

    assert async_to_sync(life)() == [True, False, True, None, Email("d"), 1, False, None]


def test_a_twin_refuses_what_its_method_refuses(emails: Queue[Any]) -> None:
    async def wrong() -> None:
        await emails.aadd(Email("a"), id="")

    with pytest.raises(InvalidError, match="^id ''"):
        async_to_sync(wrong)()


def test_an_async_handler_runs_by_the_twin_of_run_due(emails: Queue[Email]) -> None:
    ran: list[str] = []

    @emails.handler
    async def send(email: Email) -> None:
        await asyncio.sleep(0)
        ran.append(email.to)

    async def life() -> int:
        await emails.aadd(Email("ada"))
        return await emails.arun_due()

    assert (async_to_sync(life)(), ran) == (1, ["ada"])


def test_twins_join_the_atomic_block_of_the_thread_for_sync_code(emails: Queue[Email]) -> None:
    def block() -> None:
        with transaction.atomic():
            async_to_sync(emails.aadd)(Email("a"), id="x")
            raise RuntimeError

    async def view() -> None:
        await sync_to_async(block)()

    with pytest.raises(RuntimeError):
        async_to_sync(view)()
    assert emails.get("x") is None


# Views.


view_store = Store()
view_emails = view_store.queue("view-emails")


def broken(request: HttpRequest) -> HttpResponse:
    Order.objects.create(email="ada")
    view_emails.add("broken", id="broken")
    raise ValueError("the view is broken")


def good(request: HttpRequest) -> HttpResponse:
    Order.objects.create(email="ada")
    view_emails.in_(transaction).add("good", id="good")
    return HttpResponse("added")


@transaction.non_atomic_requests
async def asynchronous(request: HttpRequest) -> HttpResponse:
    await view_emails.aadd("async", id="async")
    return HttpResponse("added")


urlpatterns = [path("broken/", broken), path("good/", good), path("async/", asynchronous)]


@pytest.fixture
def requests(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ROOT_URLCONF = __name__
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)


@pytest.mark.usefixtures("requests")
@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.django_db(transaction=True))])
def test_a_view_that_fails_adds_no_job_and_one_that_answers_does(real: bool) -> None:
    client = Client(raise_request_exception=False)
    statuses = [client.post(f"/{name}/").status_code for name in ("broken", "good", "async")]
    ran: list[str] = []

    assert statuses == [500, 200, 200]
    assert Order.objects.count() == 1
    assert_added(view_emails, count=2)
    assert view_emails.run_due(ran.append) == 2
    assert sorted(ran) == ["async", "good"]
    assert connection.in_atomic_block is not real


@pytest.mark.usefixtures("requests")
def test_an_async_client_adds_jobs_too() -> None:
    async def post() -> int:
        return (await AsyncClient().post("/async/")).status_code

    assert async_to_sync(post)() == 200
    assert_added(view_emails, id="async")


# Handlers.


def test_a_handler_stays_the_function_it_is(emails: Queue[Email]) -> None:
    @emails.handler
    def send(email: Email) -> str:
        return email.to

    assert send(Email("ada")) == "ada"


def test_a_second_handler_is_refused_by_name(emails: Queue[Email]) -> None:
    @emails.handler
    def send(email: Email) -> None: ...

    with pytest.raises(InvalidError, match=r"queue 'emails' has a handler already, .*send"):
        emails.handler(lambda email: None)
    with pytest.raises(InvalidError, match="has a handler already"):
        emails.handler(atomic=True)(lambda email: None)


def test_what_cannot_be_a_handler_is_refused(emails: Queue[Email]) -> None:
    async def send(email: Email) -> None: ...

    with pytest.raises(InvalidError, match="is async, and Django's transactions are not: write a sync one"):
        emails.handler(atomic=True)(send)
    with pytest.raises(InvalidError, match="handler 'send' of queue 'emails': give a function"):
        emails.handler("send")  # type: ignore[call-overload]


def test_work_without_a_handler_is_refused(emails: Queue[Email]) -> None:
    with pytest.raises(InvalidError, match="has no handler"):
        emails.work()
    with pytest.raises(InvalidError, match="concurrency 0: give a whole number"):
        emails.work(lambda email: None, concurrency=0)


@pytest.mark.django_db(transaction=True)
def test_a_worker_of_this_process_runs_its_jobs_until_it_is_stopped(shop: Store) -> None:
    ran: list[str] = []
    with testing.clock(NOON) as clock:
        letters = shop.queue("letters", str)
        letters.add("now")
        letters.add("later", delay="1h")
        with letters.work(ran.append) as worker:
            wait_for(lambda: ran == ["now"])
            clock.advance("1h")
            wait_for(lambda: ran == ["now", "later"])
        letters.add("after it")

    assert worker.settled == 2
    assert ran == ["now", "later"]
    assert models.Job.objects.count() == 1


def wait_for(happened: Any) -> None:
    async def look() -> None:
        for _ in range(2000):
            if happened():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it did not happen within 20 s")

    asyncio.run(look())


# The default store.


def test_the_default_store_is_there_and_is_one() -> None:
    import tinystore_django

    assert isinstance(store, Store)
    assert tinystore_django.store is store
    assert tinystore_django.Store is Store


@override_settings(TIME_ZONE="America/New_York")
def test_a_job_shows_its_time_in_utc_whatever_the_projects_zone(emails: Queue[Email]) -> None:
    emails.add(Email("a"), id="x", delay="1m")

    assert str(emails.get("x").at) == str(after(minutes=1))  # type: ignore[union-attr]


@pytest.mark.parametrize("call", ["add", "set", "update", "add_many"])
def test_an_argument_there_is_not_is_told_with_the_one_that_was_meant(call: str, shop: Store) -> None:
    queue = shop.queue("emails")
    values: Any = {"add": ["Ada"], "add_many": [["Ada"]]}.get(call, ["ada", "Ada"])

    with pytest.raises(TypeError, match=rf"Queue\.{call}\(\) got an unexpected keyword argument 'dealy'"):
        getattr(queue, call)(*values, dealy="1h")
    with pytest.raises(TypeError, match=r"^Queue.add\(\) got .* 'dealy': did you mean 'delay'\?$"):
        queue.add("Ada", dealy="1h")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Queue.add\(\) got .* 'tag': it takes id, at, delay, group, .*, time_zone$"):
        queue.add("Ada", tag="1h")  # type: ignore[call-arg]
