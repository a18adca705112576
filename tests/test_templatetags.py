"""{% load tinystore %}: the element that a page's script fills in."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.staticfiles import finders
from django.template import Context, Template


def rendered(tag: str, **context: object) -> str:
    return Template("{% load tinystore %}" + tag).render(Context(context))


def test_a_live_job_names_its_events_its_words_and_its_script() -> None:
    page = rendered('{% live_job url waiting="{ahead} before you" waiting_one="One" %}', url="/jobs/7/events/")

    assert 'data-job-events="/jobs/7/events/"' in page
    assert 'data-waiting="{ahead} before you"' in page
    assert 'data-waiting-one="One"' in page
    assert 'src="/static/tinystore_django/live_job.js"' in page
    assert finders.find("tinystore_django/live_job.js")


def test_what_it_is_given_is_escaped() -> None:
    page = rendered("{% live_job url done=word %}", url='/"><script>', word='"><script>')

    assert "><script>" not in page.replace("</div>\n<script src", "")


@pytest.mark.parametrize("text", [r'"Say \"hi\" & <b>"', r"'Say &quot;hi&quot; & <b>'", "word", "word|safe"])
def test_a_text_with_quotes_stays_one_text(text: str) -> None:
    for tag in (
        f"{{% live_job url done={text} %}}",
        f"{{% autoescape off %}}{{% live_job url done={text} %}}{{% endautoescape %}}",
    ):
        page = rendered(tag, url="/x/", word='Say "hi" & <b>')

        (element,) = re.findall(r"<div class=.live-job.[^>]*?data-job-events=\"/x/\" data-done=\"([^\"]*)\">", page)
        assert html.unescape(element) == 'Say "hi" & <b>'


def test_it_needs_no_inline_script_or_style() -> None:
    page = rendered("{% live_job url %}", url="/x/")

    assert "style=" not in page
    assert "<script>" not in page
    assert " on" not in page
