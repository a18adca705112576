"""What a project hides from its operators: values, answers and progress go through its REDACT function."""

from __future__ import annotations

import msgspec
from django.utils.html import format_html
from django.utils.translation import gettext as _

from .. import conf
from ..log import logger
from ..withholding import hides, kept_error
from . import showing
from .stored import translated


def value(queue: str, text: str | None) -> str:
    """JSON of a job of that queue in its own lines, as the project lets it be seen."""
    try:
        return showing.json_block(_redacted(queue, text))
    except HiddenError as hidden:
        return _hidden(hidden)


def progress(queue: str, text: str | None) -> str:
    """A run's progress for a list, as the project lets it be seen."""
    try:
        return showing.bar(_redacted(queue, text))
    except HiddenError as hidden:
        return _hidden(hidden)


def error(text: str | None) -> str | None:
    """An error of a job in the operator's language, without a value that one of ours quotes where values are hidden."""
    return translated(kept_error(text))


class HiddenError(Exception):
    """What the project would show is not known; its text says why, in the operator's language."""


def _redacted(queue: str, text: str | None) -> str | None:
    if not text or not hides():
        return text
    try:
        data = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise HiddenError(_("hidden: it is no JSON, and REDACT is given what JSON has")) from error
    try:
        hook = conf.redact()
        assert hook is not None
        return msgspec.json.encode(hook(queue, data)).decode()
    except Exception as error:  # whatever a project's function raises, the value stays hidden
        logger.exception("REDACT failed for queue %s: what it was to redact is not shown", queue)
        raise HiddenError(_("hidden: the project's REDACT function failed")) from error


def _hidden(why: HiddenError) -> str:
    return format_html('<em class="tinystore-hidden">{}</em>', why)
