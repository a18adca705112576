"""How a job's columns are shown: as text that the page escapes, whatever a program put into them."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import msgspec
from django.utils import timezone
from django.utils.formats import date_format, get_format, number_format
from django.utils.html import format_html
from django.utils.text import Truncator, capfirst
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import npgettext_lazy

from ..values import cut, first_line, plain, read_loosely

# As Django's list shows what is not there; a job's page would say None.
NOTHING = "-"
# The indents of deeper JSON would be longer than all it says: 5,000 brackets make a page of 50 MB.
DEEPEST = 50
BRACKETS = re.compile(r"[\[\]{}]")
LONGEST = 64 * 1024  # bytes of a text on a job's page
MOST = 60  # characters of a text in a list
LONGEST_TITLE = 120  # characters
MINUTE = timedelta(minutes=1)
# In the format of a time: "noon", "1 p.m.", and the minutes behind what separates them from the hours.
TWELVE_HOURS = re.compile(r"(?<!\\)P")
WITH_SECONDS = re.compile(r"([:.])i\b(?![:.]s)")
# Django's own have the case in which a span stands alone: "Tage", where "vor 3 Tagen" is meant.
DISTANCES = {
    "year": npgettext_lazy("in or ago", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("in or ago", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("in or ago", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("in or ago", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("in or ago", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("in or ago", "%(num)d minute", "%(num)d minutes", "num"),
}


def number(count: int) -> str:
    """A count as people read it: 19,985."""
    return number_format(int(count), use_l10n=True, force_grouping=True)


def capped(count: int, most: int) -> str:
    """A count that was made up to a limit, and stands for more beyond it: 10,000+."""
    return f"{number(most)}+" if count > most else number(count)


def moment(at: datetime | None) -> str:
    """A time in the current time zone, as the language writes it; with its offset where it is pointed at."""
    if at is None:
        return NOTHING
    # The first and the last day of the calendar are not in every zone: they stay in UTC.
    with suppress(OverflowError):
        at = timezone.localtime(at)
    said, exact = date_format(at, _to_the_second(at)), at.isoformat(" ", "seconds")
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact, said)


def _to_the_second(at: datetime) -> str:
    """The language's format of a time, with the seconds that Django's own leaves out, if there are any."""
    chosen = str(get_format("DATETIME_FORMAT"))
    if not at.second:
        return chosen
    return WITH_SECONDS.sub(r"\g<0>\1s", TWELVE_HOURS.sub("g:i a", chosen))


def due(at: datetime, now: datetime) -> str:
    """A time, and how far from now it is."""
    return format_html('{} <span class="tinystore-away">{}</span>', moment(at), away(at, now))


def away(at: datetime, now: datetime) -> str:
    """How far a time is from now: "in 5 minutes", "3 s ago"."""
    if at > now:
        return _("in %(span)s") % {"span": _span(now, at)}
    return _("%(span)s ago") % {"span": _span(at, now)}


def _span(start: datetime, end: datetime) -> str:
    if end - start < MINUTE:
        return _("%(seconds)s s") % {"seconds": (end - start).seconds}
    # Its stubs ask for texts that are translated already.
    return timesince(start, end, depth=1, time_strings=DISTANCES)  # type: ignore[arg-type]


def name(text: str | None, most: int | None = None) -> str:
    """An id or a group in one line, cut to so many characters, without what would turn the text around it about."""
    if not text:
        return NOTHING
    line = plain(text)
    return format_html("<bdi>{}</bdi>", f"{line[:most]}…" if most and len(line) > most else line)


def title(job: object) -> str:
    """A job's queue and id as the title of a page, cut to two lines of it."""
    return Truncator(str(job)).chars(LONGEST_TITLE)


def key(primary: int) -> str:
    """What stands for the id of a job without one: the primary key of its row."""
    return format_html('<span class="tinystore-key">{}</span>', primary)


def cell(label: str, shown: str) -> str:
    """A cell of a list, which says what it is where the list has no head, and is left out where there is nothing."""
    empty = " tinystore-empty" if shown == NOTHING else ""
    return format_html('<div class="tinystore-cell{}" data-label="{}">{}</div>', empty, capfirst(label), shown)


def line(text: str | None) -> str:
    """The first line of a text, cut for a list."""
    return format_html("<bdi>{}</bdi>", first_line(text, 2 * MOST)) if text else NOTHING


def block(text: str | None) -> str:
    """A text in its own lines, escaped; the first 64 kB of it."""
    if not text:
        return NOTHING
    shown = cut(text, LONGEST)
    cut_off = "" if shown == text else _("The first 64 kB are shown.")
    return format_html('<pre class="tinystore-block">{}</pre>{}', plain(shown, kept="\n\t"), cut_off)


def json_block(text: str | None) -> str:
    """JSON indented; as it is where it is deep or no JSON."""
    if not text or _depth(text) > DEEPEST:
        return block(text)
    try:
        return block(msgspec.json.format(text, indent=2))
    except msgspec.DecodeError:
        return block(text)


def bar(text: str | None) -> str:
    """Progress, as JSON: a bar where it says how much of the whole is done, and its text, cut for a list."""
    if not text:
        return NOTHING
    share = _share(read_loosely(text))
    shown = first_line(text, MOST)
    if share is None:
        return format_html("<bdi>{}</bdi>", shown)
    said = f"{share:.0%}"
    return format_html(
        '<progress class="tinystore-bar" max="100" value="{}" title="{}">{}</progress> {}',
        f"{100 * share:.0f}",
        shown,
        said,
        said,
    )


def _share(progress: Any) -> float | None:
    """How much is done, 0 to 1, of what programs usually report; None where it says no such thing."""
    match progress:
        case {"done": done, "total": total} | [done, total] if _is_number(done) and _is_number(total) and total > 0:
            return _part(done, total)
        case {"percent": percent} if _is_number(percent):
            return _part(percent, 100)
        # A fraction of 1, or percent: a whole number is percent.
        case float() if 0 <= progress <= 1:
            return progress
        case int() | float() if _is_number(progress) and 0 <= progress <= 100:
            return progress / 100
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _part(done: float, total: float) -> float:
    """Compared first: a whole number may be too large to divide."""
    if done <= 0:
        return 0.0
    return 1.0 if done >= total else done / total


def _depth(json: str) -> int:
    """How deep JSON is nested at most; brackets in its texts may make it seem deeper."""
    steps = (1 if bracket in "[{" else -1 for bracket in BRACKETS.findall(json))
    return max(accumulate(steps), default=0)
