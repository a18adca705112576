"""{% load tinystore %}: a job's place in the queue and its bar, live."""

from __future__ import annotations

from typing import Any

from django import template

register = template.Library()


@register.inclusion_tag("tinystore_django/live_job.html")
def live_job(events: str, **words: Any) -> dict[str, Any]:
    """Shows a job as it goes: `{% live_job url waiting="{ahead} videos ahead of yours" done="Your video is there" %}`.

    Args:
        events: the address of a view that gives `job_events`.
        words: what to say in place of the English words: `scheduled`, `waiting`, `waiting_one`, `next`, `running`,
            `done`, `failed`, `cancelled`, `gone`, `unavailable`. `{ahead}` and `{percent}` stand for the numbers.
    """
    return {"events": events, "words": {name.replace("_", "-"): text for name, text in words.items()}}
