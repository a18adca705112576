"""The live bar reads a progress as the admin does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from selenium.webdriver import Chrome

from tinystore_django.admin import showing

pytestmark = [pytest.mark.browser, pytest.mark.slow]
READABLE = [
    '{"done": 3, "total": 12, "file": "a"}',
    '{"done": 13, "total": 12}',
    '{"done": -1, "total": 12}',
    '{"done": "3", "total": 12, "percent": 40}',
    "[3, 12]",
    '{"percent": 40}',
    '{"percent": 140}',
    "0",
    "0.0",
    "0.5",
    "1.0",
    "1",
    "40",
    "37.5",
    "100",
]
OTHER = [
    '"reading"',
    "true",
    "null",
    "{}",
    '{"done": true, "total": 2}',
    '{"done": 1, "total": 0}',
    '{"percent": "40"}',
    '{"progress": 1.0}',
    "[1, 0]",
    "[1, 2, 3]",
    "101",
    "-1",
]
# A page with one bar, its script, and a stream of events that the test writes itself.
SHOW = """
document.body.innerHTML =
    '<div data-job-events="/"><p role="status"></p><progress max="1" hidden></progress></div>';
window.EventSource = class { constructor() { window.stream = this } addEventListener() {} };
new Function(arguments[0])();
window.stream.onmessage({ data: arguments[1] });
const bar = document.querySelector("progress");
return bar.hasAttribute("value") ? Math.round(100 * bar.value) : null;
"""


def in_the_admin(progress: str) -> int | None:
    value = re.search(r'value="(\d+)"', showing.bar(progress))
    return int(value[1]) if value else None


def on_a_page(browser: Chrome, progress: str) -> int | None:
    script = Path(finders.find("tinystore_django/live_job.js") or "").read_text()
    event = json.dumps({"state": "running", "ahead": 0, "progress": json.loads(progress), "error": None})
    return browser.execute_script(SHOW, script, event)


def test_the_live_bar_stands_where_the_admins_does(browser: Chrome) -> None:
    browser.get("about:blank")

    shown = {progress: on_a_page(browser, progress) for progress in [*READABLE, *OTHER]}

    assert shown == {progress: in_the_admin(progress) for progress in [*READABLE, *OTHER]}
    assert [progress for progress in READABLE if shown[progress] is None] == []
    assert [progress for progress in OTHER if shown[progress] is not None] == []
