"""job_events: a job's changes as server-sent events, under ASGI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import AsyncRequestFactory, RequestFactory
from django.urls import path

from tests.programs import wait_for
from tests.watching.watch import in_thread, nobody_watches, sessions
from tinystore_django import InvalidError, Queue, Store, views
from tinystore_django.views import job_events
from tinystore_django.watching.hub import _hubs

URLCONF = __name__
queues: dict[str, Queue[Any]] = {}


async def events(request: HttpRequest, id: str) -> HttpResponseBase:
    """A project's view: it checks, and then streams."""
    if request.headers.get("X-Visitor") == "stranger":
        return HttpResponse("not yours", status=403)
    await User.objects.filter(username="ada").aexists()
    return await job_events(request, queues["emails"], id)


urlpatterns = [path("events/<str:id>/", events)]


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    queues["emails"] = shop.queue("emails")
    return queues["emails"]


def read(response: HttpResponseBase) -> list[str]:
    """All of a stream's events."""

    async def chunks() -> list[str]:
        return [part.decode() async for part in response]  # type: ignore[attr-defined]

    return async_to_sync(chunks)()


def stream(queue: Queue[Any], id: str = "x", **about: Any) -> list[str]:
    return read(async_to_sync(job_events)(AsyncRequestFactory().get("/"), queue, id, **about))


def data(event: str) -> dict[str, Any]:
    assert event.startswith("data: ")
    assert event.endswith("\n\n")
    answer: dict[str, Any] = json.loads(event.removeprefix("data: "))
    return answer


@pytest.mark.django_db
def test_an_id_without_a_job_ends_the_stream_at_once(emails: Queue[Any]) -> None:
    assert stream(emails) == [views.END]


@pytest.mark.django_db
def test_an_event_holds_what_a_watch_reports_and_not_the_value(emails: Queue[Any]) -> None:
    emails.add("a secret", id="x")
    emails.run_due(lambda value, run: run.fail("another secret"))

    only, end = stream(emails)

    assert "secret" not in only
    assert data(only) == {
        "state": "failed",
        "ahead": 0,
        "attempt": 1,
        "at": emails.get("x").at.isoformat(),  # type: ignore[union-attr]
        "progress": None,
        "error": None,
    }
    assert end == views.END


@pytest.mark.django_db
def test_an_error_is_sent_to_who_asks_for_it(emails: Queue[Any]) -> None:
    emails.add("a", id="x")
    emails.run_due(lambda value, run: run.fail("line one\n\nline two"))

    assert data(stream(emails, errors=True)[0])["error"] == "line one\n\nline two"


@pytest.mark.django_db
def test_a_stream_that_its_timeout_ends_says_no_end_so_that_the_browser_asks_again(emails: Queue[Any]) -> None:
    emails.add("a", id="x")

    assert [data(event)["state"] for event in stream(emails, timeout="300ms")] == ["waiting"]


@pytest.mark.django_db
def test_a_silent_stream_is_kept_alive_by_comments(emails: Queue[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "KEEP_ALIVE", 0.2)
    emails.add("a", id="x")

    first, *others = stream(emails, timeout=1)

    assert data(first)["state"] == "waiting"
    assert 1 <= len(others) <= 5
    assert set(others) == {":\n\n"}


@pytest.mark.django_db
def test_nobody_keeps_or_holds_back_its_events(emails: Queue[Any]) -> None:
    response = async_to_sync(job_events)(AsyncRequestFactory().get("/"), emails, "x")

    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-cache"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Content-Encoding"] == "identity"


def test_under_wsgi_it_says_what_it_needs(emails: Queue[Any]) -> None:
    response = async_to_sync(job_events)(RequestFactory().get("/"), emails, "x")

    assert response.status_code == 501
    assert "ASGI" in response.content.decode()  # type: ignore[attr-defined]


def test_only_get_is_allowed(emails: Queue[Any]) -> None:
    for method in ("post", "head"):
        response = async_to_sync(job_events)(getattr(AsyncRequestFactory(), method)("/"), emails, "x")
        assert (response.status_code, response.headers["Allow"]) == (405, "GET")


def test_a_timeout_that_cannot_be_is_refused(emails: Queue[Any]) -> None:
    with pytest.raises(InvalidError, match="timeout"):
        async_to_sync(job_events)(AsyncRequestFactory().get("/"), emails, "x", timeout=-1)


class Visit:
    """One request to the project under ASGI, and what a server would have sent for it so far."""

    def __init__(self, id: str, visitor: str = "ada") -> None:
        self.status = 0
        self.body = ""
        self._gone = asyncio.Event()
        scope = {"type": "http", "method": "GET", "path": f"/events/{id}/", "query_string": b""}
        scope |= {"headers": [(b"host", b"testserver"), (b"x-visitor", visitor.encode())]}
        self.task = asyncio.create_task(ASGIHandler()(scope, self._receive(), self._send))

    @property
    def states(self) -> list[str]:
        return [data(event + "\n\n")["state"] for event in self.body.split("\n\n") if event.startswith("data")]

    async def leave(self) -> None:
        """The browser's tab is closed."""
        self._gone.set()
        await asyncio.wait_for(self.task, 30)

    def _receive(self) -> Callable[[], Coroutine[Any, Any, dict[str, Any]]]:
        waiting = [{"type": "http.request", "body": b""}]

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            await self._gone.wait()
            return {"type": "http.disconnect"}

        return receive

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"").decode()


async def until(condition: Callable[[], Any]) -> None:
    await asyncio.to_thread(wait_for, condition)


@pytest.mark.django_db(transaction=True)
class TestUnderASGI:
    @pytest.fixture(autouse=True)
    def site(self, settings: Any, emails: Queue[Any]) -> None:
        settings.ROOT_URLCONF = URLCONF
        settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware"]

    def test_a_page_sees_its_job_run(self, emails: Queue[Any]) -> None:
        emails.add("a", id="x")

        async def visited() -> Visit:
            visit = Visit("x")
            await until(lambda: visit.states == ["waiting"])
            await in_thread(lambda: emails.run_due(lambda value: None))
            await asyncio.wait_for(visit.task, 30)
            return visit

        visit = async_to_sync(visited)()

        assert (visit.status, visit.states[-1]) == (200, "done")
        assert visit.body.endswith(views.END)
        wait_for(nobody_watches)

    def test_a_visitor_who_may_not_see_it_is_told_so_by_the_projects_own_check(self, emails: Queue[Any]) -> None:
        async def visited() -> Visit:
            visit = Visit("x", "stranger")
            await visit.task
            return visit

        assert (async_to_sync(visited)()).status == 403

    def test_visitors_who_leave_leave_nothing_behind(self, emails: Queue[Any]) -> None:
        emails.add("a", id="x", delay="1h")

        async def visited() -> None:
            visits = [Visit("x") for _ in range(5)]
            await until(lambda: all(one.states for one in visits))
            assert len(_hubs["default"].watchers) == 5
            for one in visits[:4]:
                await one.leave()
            await until(lambda: len(_hubs["default"].watchers) == 1)
            await visits[4].leave()
            await until(nobody_watches)

        async_to_sync(visited)()

    @pytest.mark.postgresql
    def test_open_pages_hold_no_connection_each(self, emails: Queue[Any]) -> None:
        emails.add("a", id="x", delay="1h")

        async def visited(before: int) -> int:
            visits = [Visit("x") for _ in range(20)]
            await until(lambda: all(one.states for one in visits))
            await until(lambda: len(_hubs["default"].watchers) == 20)
            held = await in_thread(sessions)
            for one in visits:
                await one.leave()
            return held - before

        assert async_to_sync(visited)(sessions()) <= 3  # the one that counts, too
        wait_for(nobody_watches)
