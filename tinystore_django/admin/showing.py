"""How a job's columns are shown: as text that the page escapes, whatever a program put into them."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from itertools import accumulate

import msgspec
from django.utils import timezone
from django.utils.html import format_html

# As Django's list shows what is not there; a job's page would say None.
NOTHING = "-"
# The indents of deeper JSON would be longer than all it says: 5,000 brackets make a page of 50 MB.
DEEPEST = 50
BRACKETS = re.compile(r"[\[\]{}]")


def moment(at: datetime | None) -> str:
    """A time with its seconds and its offset, in the current time zone."""
    if at is None:
        return NOTHING
    # The first and the last day of the calendar are not in every zone: they stay in UTC.
    with suppress(OverflowError):
        at = timezone.localtime(at)
    return at.isoformat(" ", "seconds")


def block(text: str | None) -> str:
    """A text in its own lines, escaped."""
    return format_html('<pre style="white-space: pre-wrap; margin: 0">{}</pre>', text) if text else NOTHING


def json_block(text: str | None) -> str:
    """JSON indented; as it is where it is deep or no JSON."""
    if not text or _depth(text) > DEEPEST:
        return block(text)
    try:
        return block(msgspec.json.format(text, indent=2))
    except msgspec.DecodeError:
        return block(text)


def _depth(json: str) -> int:
    """How deep JSON is nested at most; brackets in its texts may make it seem deeper."""
    steps = (1 if bracket in "[{" else -1 for bracket in BRACKETS.findall(json))
    return max(accumulate(steps), default=0)
