"""Whatever a program wrote is shown as text, on every page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page, chosen, pressed
from tests.byhand import Hand
from tinystore_django import Store, models
from tinystore_django.lifecycle import stepping

pytestmark = pytest.mark.django_db
EVIL = """\u202egnp"><script>alert(1)</script><img src=x onerror=alert(2)>{{7777*7}}{%now%}'"""
LINK = "javascript:alert(3)"


@pytest.fixture
def pages(shop: Store, hand: Hand, admin_client: Client) -> dict[str, str]:
    """Every page, of jobs that hold hostile text wherever there can be some."""
    queue = shop.queue("emails", attempts=3)
    for name in ("failed", "running", "waiting"):
        queue.add({EVIL: [EVIL, LINK]}, id=f"{EVIL}{name}", group=f"{EVIL}{LINK}")
    failed, running = hand.take(queue, 2)
    hand.end(failed, "failed", EVIL, traceback=EVIL)
    stepping.keep("default", running.fence, EVIL, json.dumps({EVIL: LINK}))
    stepping.report("default", running.fence, json.dumps({EVIL: LINK}))
    jobs = list(models.Job.objects.all())
    urls = [JOBS, *(f"{JOBS}{job.pk}/{page}/" for job in jobs for page in ("change", "history", "delete"))]
    urls += ["/admin/", f"{JOBS}?q={EVIL}&group={EVIL}&queue={EVIL}&state={EVIL}&database={EVIL}"]
    asked = [pressed(admin_client, verb, job) for job in jobs for verb in ("cancel", "move_time")]
    asked += [chosen(admin_client, "move_time", *jobs, time=EVIL), pressed(admin_client, "retry_now", jobs[0])]
    found = {url: Page(admin_client.get(url)).html for url in urls}
    return found | {f"asked {number}": page.html for number, page in enumerate(asked)}


class Markup(HTMLParser):
    """The tags of a page, as a browser would find them, each with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_no_page_has_markup_of_a_program(pages: dict[str, str]) -> None:
    for where, page in pages.items():
        for tag, attributes in Markup(page).tags:
            assert not any(name.startswith("on") for name in attributes), where
            assert attributes.get("src") != "x", where
            assert tag != "script" or "src" in attributes or attributes.get("id"), where
        assert "alert(1)</script>" not in page, where
        assert "54439" not in re.sub(r' d="[^"]*"|csrfmiddlewaretoken" value="\w+"', "", page), where


def test_no_link_runs_what_a_program_wrote(pages: dict[str, str]) -> None:
    for where, page in pages.items():
        links = [one.get(name) or "" for _, one in Markup(page).tags for name in ("href", "src", "action")]
        assert not any(link.strip().lower().startswith("javascript:") for link in links), where


def test_what_would_turn_the_text_around_it_about_is_shown_as_an_escape(pages: dict[str, str], db: None) -> None:
    assert r"\u202egnp" in pages[JOBS]
    assert re.findall("<bdi>[^<]*\u202e", pages[JOBS]) == []


def test_the_texts_are_there(pages: dict[str, str]) -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in pages[JOBS]


def test_the_headers_of_the_project_stay(admin_client: Client, settings: Any) -> None:
    settings.MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", *settings.MIDDLEWARE]

    assert admin_client.get(JOBS)["X-Content-Type-Options"] == "nosniff"
