"""A queue's options and spans of time in words."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..options import QueueOptions
from ..timing.durations import UNITS, in_words
from ..timing.rates import Rate
from .showing import number


def options(chosen: QueueOptions) -> list[str]:
    """What a queue was told, each option that says something in a few words."""
    return [*_runs(chosen), *_limits(chosen), *_keeps(chosen)]


def span(us: int) -> str:
    """A span as exact as somebody who looks at a chart needs it: "3m5s", "870ms", "0s"."""
    return in_words(us - us % (UNITS["s"] if us >= UNITS["s"] else UNITS["ms"]))


def _runs(chosen: QueueOptions) -> Iterator[str]:
    yield ngettext("%(count)s attempt", "%(count)s attempts", chosen.attempts) % {"count": number(chosen.attempts)}
    backoff = {"initial": in_words(chosen.backoff.initial_us), "max": in_words(chosen.backoff.max_us)}
    yield _("backoff %(initial)s to %(max)s") % backoff
    yield _("timeout %(span)s") % {"span": in_words(chosen.timeout)}


def _limits(chosen: QueueOptions) -> Iterator[str]:
    if chosen.total:
        yield _("%(count)s at once") % {"count": number(chosen.total)}
    if chosen.group:
        yield _("%(count)s at once in a group") % {"count": number(chosen.group)}
    if chosen.rate:
        yield _("rate %(rate)s") % {"rate": _rate(chosen.rate)}
    if chosen.group_rate:
        yield _("rate in a group %(rate)s") % {"rate": _rate(chosen.group_rate)}
    if chosen.max_waiting:
        yield _("at most %(count)s waiting") % {"count": number(chosen.max_waiting)}


def _keeps(chosen: QueueOptions) -> Iterator[str]:
    if chosen.dedupe:
        yield _("ids taken for %(span)s") % {"span": in_words(chosen.dedupe)}
    yield _("failed ones kept %(span)s") % {"span": in_words(chosen.keep)}
    if chosen.keep_done:
        yield _("done ones kept %(span)s") % {"span": in_words(chosen.keep_done)}


def _rate(rate: Rate) -> str:
    span = in_words(rate.span)
    return f"{rate.count}/{span.removeprefix('1') if span[1:].isalpha() else span}"
