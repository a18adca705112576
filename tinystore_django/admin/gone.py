"""The page of a job whose row is no longer there: what became of it, what was seen of it last, and what was done to it.

A done job leaves nothing in the database. So what an operator saw last is kept where they saw it, in a signed cookie of
that job's page alone. It is kept for as long as a cancel is known: what was not cancelled meanwhile is done.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.html import strip_tags
from django.utils.translation import gettext as _

from ..databases import database
from ..lifecycle.clearing import REMEMBERED
from ..lifecycle.locking import State
from ..models import Cancel, Job
from ..timing import clock
from ..timing.durations import UNITS
from .detail import Fact

COOKIE = "tinystore_seen"
SECONDS = REMEMBERED // UNITS["s"]
# What is short; a browser keeps 4 kB.
FACTS = ("queue", "named", "state_now", "due_at", "attempt", "group", "started")
LONGEST = 120
MOST = 3_800


@dataclass(frozen=True, slots=True)
class Seen:
    """A job as an operator saw it last."""

    alias: str
    at: datetime
    state: int
    facts: list[list[str]]  # each a label and a text


def remember(request: HttpRequest, response: HttpResponse, job: Any, facts: Iterable[Fact]) -> None:
    """Keeps what a job's page shows, for when it is gone."""
    short = [[str(one.label), _text(one.shown)] for one in facts if one.name in FACTS]
    seen = signing.dumps([job._state.db, job.now, job.state, short], salt=COOKIE, compress=True)
    if len(seen) <= MOST:
        response.set_cookie(
            COOKIE,
            seen,
            max_age=SECONDS,
            path=request.path.removesuffix("change/"),
            secure=request.is_secure(),
            httponly=True,
            samesite="Lax",
        )


def last_seen(request: HttpRequest, alias: str) -> Seen | None:
    """What was seen of the page's job, within the last minutes."""
    try:
        found, now, state, facts = signing.loads(request.COOKIES.get(COOKIE, ""), salt=COOKIE, max_age=SECONDS)
    except signing.BadSignature:
        return None
    return Seen(found, clock.to_datetime(now), state, facts) if found == alias else None


def became(alias: str, key: int, seen: Seen | None, was_known: bool) -> str:
    """What became of a job that is shown no more, in a sentence."""
    now: Any = database(alias).now_expression()
    kept = Job.objects.using(alias).filter(pk=key).values_list("state", flat=True).first()
    if kept == State.FAILED:
        return _("It failed, and is kept no longer.")
    if Cancel.objects.using(alias).filter(job=key, until__gt=now).exists():
        return _("It was cancelled, and removed.")
    if kept == State.DONE or (seen is not None and seen.state != State.FAILED):
        return _("It is done, and removed.")
    if was_known or seen is not None:
        return _("It is no longer there: it is done, and removed, or was cancelled, or failed and is kept no longer.")
    return _("There is no such job: it is done, and removed, or there never was one.")


def _text(shown: Any) -> str:
    # Without what is quiet beside it: a note of this process, and how far off a time was.
    text = html.unescape(strip_tags(str(shown).partition(" <span ")[0]))
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text
