"""{% load tinystore %}: a job's place in the queue and its bar, live."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

register = template.Library()


@register.inclusion_tag("tinystore_django/live_job.html", takes_context=True)
def live_job(context: template.Context, events: str, **words: Any) -> dict[str, Any]:
    """Shows a job as it goes: `{% live_job url waiting="{ahead} videos ahead of yours" done="Your video is there" %}`.

    Args:
        events: the address of a view that gives `job_events`.
        words: what to say in place of the English words: `scheduled`, `waiting`, `waiting_one`, `next`, `running`,
            `done`, `failed`, `cancelled`, `gone`, `unavailable`. `{ahead}` and `{percent}` stand for the numbers.
    """
    texts = {name.replace("_", "-"): _in_quotes(text) for name, text in words.items()}
    nonces = {name: context.get(name) for name in ("request", "csp_nonce")}
    return {**nonces, "events": _in_quotes(events), "words": texts}


def _in_quotes(text: Any) -> SafeString:
    """A text as an attribute's value. What a template spells out counts as safe, quotes and all."""
    return SafeString(str(conditional_escape(text)).replace('"', "&quot;"))
