"""What this package itself wrote into a row, in English: in the operator's language as it is shown."""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import gettext, gettext_noop

# Of an error what an operator has to know, not what the handler's author should write instead.
WRITTEN = (
    gettext_noop("the worker was lost"),
    gettext_noop("its handler asked for a retry"),
    gettext_noop("the run passed its timeout"),
    gettext_noop("the run passed its timeout of %(span)s"),
    gettext_noop("its value no longer reads"),
    gettext_noop("its value no longer reads: %(why)s"),
    gettext_noop("its row is damaged: %(why)s"),
    gettext_noop("every %(span)s"),
    gettext_noop("by LISTEN/NOTIFY and every %(span)s"),
    gettext_noop("by changes of the database's file and every %(span)s"),
)
PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def translated(text: str | None) -> str | None:
    """A text in the operator's language, if it is one of ours; else as it stands."""
    if text is None:
        return None
    for written in WRITTEN:
        if found := _pattern(written).fullmatch(text):
            return gettext(written) % found.groupdict()
    return text


@cache
def _pattern(written: str) -> re.Pattern[str]:
    """What the text looks like with its placeholders filled in."""
    parts = PLACEHOLDER.split(written)  # a text, a name, a text, …
    return re.compile(
        "".join(f"(?P<{part}>.+)" if place % 2 else re.escape(part) for place, part in enumerate(parts)), re.DOTALL
    )
