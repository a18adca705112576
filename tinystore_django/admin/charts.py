"""Small charts of the last hour: sixty bars in an SVG, without a script, with a text for whoever does not see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

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
    started, failed = [one.started for one in minutes], [one.failed for one in minutes]
    waits = [one.longest_wait for one in minutes]
    longest = span(max(waits, default=0))
    return [
        _chart("started", started, _counted(_("Started"), started), _("%(count)s started") % _sum(started)),
        _chart("failed", failed, _counted(_("Failed"), failed), _("%(count)s failed") % _sum(failed)),
        _chart(
            "wait",
            waits,
            _("Longest wait in the last hour: %(span)s") % {"span": longest},
            _("waited up to %(span)s") % {"span": longest},
        ),
    ]


def _counted(what: str, counts: Sequence[int]) -> str:
    values = {"what": what, **_sum(counts), "most": number(max(counts, default=0))}
    return _("%(what)s in the last hour: %(count)s, at most %(most)s in a minute") % values


def _sum(counts: Sequence[int]) -> dict[str, str]:
    return {"count": number(sum(counts))}


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
