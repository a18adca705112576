"""A view for the project to put behind its own permission check: a job's changes as they happen."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.http.response import HttpResponseBase

from .jobs import Job
from .queues import Queue
from .timing.durations import Span
from .watching import reports
from .watching.watchers import Deadline

# Seconds without an event before a comment is sent: many proxies end a connection that is silent for a minute.
KEEP_ALIVE = 15.0
COMMENT = ":\n\n"
# For the browser, which asks again whenever a stream ends unless it was told that this is all.
END = "event: end\ndata: {}\n\n"
HEADERS = {
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # nginx would hold the events back
    "Content-Encoding": "identity",  # and so would Django's GZipMiddleware
}
NEEDS_ASGI = (
    "A live view needs an ASGI server, such as uvicorn or daphne: this one runs the project under WSGI, where each "
    "open page would hold a whole worker process or thread."
)


async def job_events(
    request: HttpRequest, queue: Queue[Any], id: str, *, timeout: float | Span | None = None, errors: bool = False
) -> HttpResponseBase:
    """Streams what `queue.watch` reports of a job as server-sent events; an id without a job ends it at once.

    It asks nobody's permission: check that the visitor may see the job, then `return await job_events(...)`.
    Under WSGI it answers 501, and says why.

    Args:
        timeout: ends the stream after so many seconds, or a span; a browser then asks again by itself.
        errors: sends the error's text too, which may hold what a visitor should not read.

    Raises:
        InvalidError: the id is no text, or the timeout cannot be one.
    """
    until = reports.deadline(timeout)
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    if not isinstance(request, ASGIRequest):
        return HttpResponse(NEEDS_ASGI, status=501, content_type="text/plain")
    watch = reports.awatch(queue._declaration, id, until, KEEP_ALIVE, _let_go)
    events = _events(watch, until, errors)
    return StreamingHttpResponse(events, content_type="text/event-stream", headers=HEADERS)


async def _events(
    watch: AsyncGenerator[Job[Any] | None, None], until: Deadline, errors: bool
) -> AsyncGenerator[str, None]:
    async with aclosing(watch) as jobs:
        async for job in jobs:
            yield COMMENT if job is None else f"data: {json.dumps(_shown(job, errors))}\n\n"
    if not until.passed:
        yield END


def _shown(job: Job[Any], errors: bool) -> dict[str, Any]:
    """What of a job goes to the browser. Never its value, which may be anything."""
    return {
        "state": job.state,
        "ahead": job.ahead,
        "attempt": job.attempt,
        "at": job.at.isoformat(),
        "progress": job.progress,
        "error": job.error if errors else None,
    }


def _let_go() -> None:
    """Closes the connections of the request, which would else stay open, unused, for as long as its stream."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and connection.autocommit and not connection.in_atomic_block:
            connection.close()
