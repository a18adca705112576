"""Small charts of the last hour: sixty bars in an SVG, without a script, with a text for whoever does not see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..databases.rows import Sum
from .showing import number
from .wording import span

WIDTH, HEIGHT = 3, 28  # of a bar and the gap behind it, and of the highest


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and the number below it."""

    kind: str
    picture: SafeString
    caption: str


def of_hour(minutes: Sequence[Sum]) -> list[Chart]:
    """The charts of a queue: runs started, runs failed, and the longest wait, by the minute."""
    return [
        _started([one.started for one in minutes]),
        _failed([one.failed for one in minutes]),
        _waited([one.longest_wait for one in minutes]),
    ]


def _started(counts: Sequence[int]) -> Chart:
    text = _("Started in the last hour: %(count)s, at most %(most)s in a minute")
    caption = ngettext("%(count)s started", "%(count)s started", sum(counts))
    return _chart("started", counts, text % _sums(counts), caption % _sums(counts))


def _failed(counts: Sequence[int]) -> Chart:
    text = _("Failed in the last hour: %(count)s, at most %(most)s in a minute")
    caption = ngettext("%(count)s failed", "%(count)s failed", sum(counts))
    return _chart("failed", counts, text % _sums(counts), caption % _sums(counts))


def _waited(waits: Sequence[int]) -> Chart:
    longest = {"span": span(max(waits, default=0))}
    text = _("Longest wait in the last hour: %(span)s")
    return _chart("wait", waits, text % longest, _("waited up to %(span)s") % longest)


def _sums(counts: Sequence[int]) -> dict[str, str]:
    return {"count": number(sum(counts)), "most": number(max(counts, default=0))}


def _chart(kind: str, values: Sequence[int], text: str, caption: str) -> Chart:
    # One path for all bars: sixty elements a chart would make a page of many queues slow to draw.
    picture = format_html(
        '<svg class="tinystore-chart tinystore-{}" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<title>{}</title><path class="tinystore-axis" d="M0 {}h{}v1h-{}z"/><path d="{}"/></svg>',
        *(kind, WIDTH * len(values), HEIGHT + 1, text, text, HEIGHT, WIDTH * len(values), WIDTH * len(values)),
        _bars(values),
    )
    return Chart(kind, picture, caption)


def _bars(values: Sequence[int]) -> str:
    most = max(values, default=0)
    # A minute in which anything happened has a bar that can be seen.
    heights = [max(2, round(HEIGHT * value / most)) if value else 0 for value in values]
    bars = (f"M{WIDTH * place} {HEIGHT}v-{height}h2v{height}z" for place, height in enumerate(heights) if height)
    return "".join(bars)
