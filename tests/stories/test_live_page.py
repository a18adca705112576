"""The example's live page at a browser: a place in the queue, a bar that moves, done, and no reload."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests.programs import HOME, Program, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.checkout]
MANAGE = str(HOME / "example_project" / "manage.py")
READY = """
from django.core.management import call_command
from shop.jobs import Clip, videos
from shop.models import Video
call_command("migrate", verbosity=0)
for number in range(17):
    video = Video.objects.create(title=str(number), seconds=1)
    videos.add(Clip(video.pk, 1), id=video.job_id)
"""


def manage(*command: str) -> Program:
    return Program(MANAGE, *command, settings="example_project.settings")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any) -> Iterator[str]:
    """The shop, with 17 videos in its queue and no worker yet; by `serve` or by `runserver`."""
    monkeypatch.setenv("SHOP_SQLITE", str(tmp_path / "shop.sqlite3"))
    address = f"127.0.0.1:{free_port()}"
    with manage("shell", "-c", READY) as one:
        assert one.wait(180) == 0, one.text
    with manage(*getattr(request, "param", ["serve"]), address) as server:
        wait_for(lambda: _answers(address), 120, lambda: server.text)
        yield f"http://{address}"


def _answers(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as visitor:
        return visitor.connect_ex((host, int(port))) == 0


class Page:
    """The page of a video that a customer has just sent in."""

    def __init__(self, chrome: Chrome, site: str) -> None:
        self._chrome = chrome
        chrome.get(f"{site}/videos/")
        self._find("#id_title").send_keys("Steam")
        self._find("#id_seconds").clear()
        self._find("#id_seconds").send_keys("75")
        self._find("form button").click()
        wait_for(lambda: chrome.find_elements(By.CSS_SELECTOR, ".live-job"))
        chrome.execute_script("window.isTheSame = true")

    @property
    def text(self) -> str:
        return self._find(".live-job-text").text

    @property
    def bar(self) -> float | None:
        """Where the bar stands; None while there is none."""
        return self._chrome.execute_script(
            "const bar = document.querySelector('.live-job progress');"
            "return bar.hidden || !bar.hasAttribute('value') ? null : bar.value"
        )

    @property
    def is_the_same(self) -> bool:
        """Whether it was not loaded again."""
        return self._chrome.execute_script("return window.isTheSame === true")

    def _find(self, selector: str) -> Any:
        return self._chrome.find_element(By.CSS_SELECTOR, selector)


def test_a_customer_sees_the_place_in_the_queue_the_bar_and_the_end_without_a_reload(
    browser: Chrome, site: str
) -> None:
    page = Page(browser, site)
    wait_for(lambda: page.text == "17 videos ahead of yours", what=lambda: page.text)
    assert page.bar is None

    texts, bars = [page.text], []
    with manage("tinystore_work", "--no-reload"):
        while page.text != "Your video is ready":
            texts.append(page.text)
            bars.append(page.bar)
            wait_for(lambda: (page.text, page.bar) != (texts[-1], bars[-1]), what=lambda: texts)

    moved = [bar for bar in bars if bar is not None]
    assert len({text for text in texts if text.endswith(" ahead of yours")}) > 1
    assert len({text for text in texts if text.startswith("Encoding: ")}) > 1
    assert moved == sorted(moved)
    assert len(set(moved)) > 2
    assert (page.bar, page.is_the_same) == (1, True)
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


@pytest.mark.parametrize("site", [["runserver", "--noreload"]], indirect=True)
def test_under_wsgi_the_page_says_what_it_needs(browser: Chrome, site: str) -> None:
    page = Page(browser, site)

    wait_for(lambda: "needs an ASGI server" in page.text, what=lambda: page.text)
