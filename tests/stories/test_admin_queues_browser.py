"""An operator at a browser: a queue is paused and resumed, and a schedule is run, without JavaScript too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.chromium import click, steadily
from tinystore_django import Concurrency, Queue, Store
from tinystore_django.lifecycle.pausing import paused

# All databases, and before the server starts: it would take a SQLite file that is not there yet for one in memory.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
]
HOME = "/admin/tinystore_django"
SECONDS = 30


class Operator:
    """Somebody of the staff, on the pages of queues, schedules and workers."""

    def __init__(self, chrome: Chrome, site: str) -> None:
        self.chrome = chrome
        self._site = site

    def log_in(self, name: str, link: str = "Queues") -> None:
        self.chrome.get(f"{self._site}/admin/")
        self.chrome.find_element(By.ID, "id_username").send_keys(name)
        self.chrome.find_element(By.ID, "id_password").send_keys("a secret")
        self.chrome.find_element(By.ID, "id_password").submit()
        self._wait(lambda chrome: chrome.find_elements(By.LINK_TEXT, link))

    def follow(self, link: str) -> None:
        click(self.chrome, By.LINK_TEXT, link)
        self._wait(lambda chrome: chrome.find_elements(By.CSS_SELECTOR, ".tinystore-table"))

    def open(self, page: str) -> None:
        """Goes to a page by its address: without JavaScript Django shows no sidebar."""
        self.chrome.get(f"{self._site}{HOME}/{page}/")
        self._wait(lambda chrome: chrome.find_elements(By.CSS_SELECTOR, ".tinystore-table"))

    def press(self, button: str, row: str) -> str:
        """Presses the button of a row; what the page says then."""
        path = f"//tr[.//bdi[text()='{row}']]//button[text()='{button}']"
        # The page before may still show what was done last.
        self.chrome.execute_script("document.documentElement.dataset.before = 'yes'")
        click(self.chrome, By.XPATH, path)
        self._wait(lambda page: not page.execute_script("return document.documentElement.dataset.before"))
        return steadily(self.chrome, lambda page: page.find_element(By.CSS_SELECTOR, ".messagelist").text)

    def row(self, name: str) -> str:
        path = f"//tr[.//bdi[text()='{name}']]"
        return steadily(self.chrome, lambda page: page.find_element(By.XPATH, path).text)

    @property
    def buttons(self) -> list[str]:
        script = "return [...document.querySelectorAll('.tinystore-table button')].map((one) => one.innerText)"
        texts: list[str] = self.chrome.execute_script(script)
        return texts

    @property
    def overflows(self) -> bool:
        """Whether the page is wider than its window."""
        return bool(self.chrome.execute_script("return document.documentElement.scrollWidth > window.innerWidth"))

    def _wait(self, condition: Any) -> None:
        WebDriverWait(self.chrome, SECONDS).until(condition)


@pytest.fixture
def operator(django_db_setup: None, browser: Chrome, live_server: Any) -> Iterator[Operator]:
    User.objects.create_superuser("olga", password="a secret")
    one = Operator(browser, live_server.url)
    yield one
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.delete_all_cookies()


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    queue = shop.queue("emails")
    queue.add("ada")
    return queue


def test_an_operator_pauses_a_queue_and_resumes_it(emails: Queue[Any], operator: Operator) -> None:
    operator.log_in("olga")
    operator.follow("Queues")

    assert operator.press("Pause", "emails") == "Paused emails."
    assert "paused" in operator.row("emails")
    assert emails.run_due(lambda to: None) == 0

    assert operator.press("Resume", "emails") == "Resumed emails."
    assert emails.run_due(lambda to: None) == 1


def test_a_queue_is_paused_and_a_schedule_run_without_javascript(
    shop: Store, emails: Queue[Any], operator: Operator
) -> None:
    cleanup = shop.schedule("cleanup", every="1h")
    cleanup.run_due(lambda: None)
    operator.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    operator.log_in("olga")

    operator.open("queue")
    assert operator.press("Pause", "emails") == "Paused emails."
    assert set(paused("default")) == {"emails"}

    operator.open("schedule")
    assert operator.press("Run now", "cleanup") == "Made 1 job due now."
    assert cleanup.run_due(lambda: None) == 1


def test_who_may_only_look_has_no_button(emails: Queue[Any], operator: Operator) -> None:
    looker = User.objects.create_user("leo", password="a secret", is_staff=True)
    looker.user_permissions.set(Permission.objects.filter(codename__in=["view_job", "view_queue"]))
    operator.log_in("leo")

    operator.follow("Queues")

    assert "emails" in operator.row("emails")
    assert operator.buttons == []


def test_the_buttons_are_in_sight_on_a_small_laptop_in_german(shop: Store, operator: Operator, settings: Any) -> None:
    settings.LANGUAGE_CODE = "de"
    shop.queue("emails", concurrency=Concurrency(total=4, group=2), rate="30/s", keep_done="1d", max_waiting=5)
    operator.log_in("olga", "Warteschlangen")
    for width in (1025, 1200, 1280):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        operator.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        operator.open("queue")
        assert set(operator.buttons) == {"Pausieren"}
        assert not operator.overflows, width


def test_the_pages_fit_a_phone(shop: Store, emails: Queue[Any], operator: Operator) -> None:
    shop.schedule("a-schedule-with-a-name-that-is-rather-long-as-they-come", cron="10 3 * * *", time_zone="UTC")
    operator.log_in("olga")
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    operator.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)

    with emails.work(lambda to: None):
        for page in ("queue", "schedule", "lease"):
            operator.open(page)
            assert not operator.overflows, page
