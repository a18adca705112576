"""What a project hides from its operators: values, answers and progress go through its REDACT function."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from django.utils.html import format_html
from django.utils.translation import gettext as _

from .. import conf
from . import showing

logger = logging.getLogger("tinystore_django")


def value(queue: str, text: str | None) -> str:
    """JSON of a job of that queue in its own lines, as the project lets it be seen."""
    try:
        return showing.json_block(_redacted(queue, text))
    except HiddenError:
        return _hidden()


def progress(queue: str, text: str | None) -> str:
    """A run's progress for a list, as the project lets it be seen."""
    try:
        return showing.bar(_redacted(queue, text))
    except HiddenError:
        return _hidden()


def hides() -> bool:
    """Whether the project has something to hide, so that nothing may be shown around its function."""
    return conf.given("REDACT") is not None


class HiddenError(Exception):
    """What the project would show is not known."""


def _redacted(queue: str, text: str | None) -> str | None:
    if not text or not hides():
        return text
    try:
        hook = conf.redact()
        assert hook is not None
        return msgspec.json.encode(hook(queue, _data(text))).decode()
    except Exception as error:  # whatever a project's function raises, the value stays hidden
        logger.exception("REDACT failed for queue %s: what it was to redact is not shown", queue)
        raise HiddenError from error


def _data(text: str) -> Any:
    """What a JSON text says; the text itself where it is none."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _hidden() -> str:
    return format_html('<em class="tinystore-hidden">{}</em>', _("hidden: the project's REDACT function failed"))
