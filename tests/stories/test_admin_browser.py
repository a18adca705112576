"""An operator at a browser: a failed job is found, read and retried, and another is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tinystore_django import Queue, Store

# All databases, and before the server starts: it would take a SQLite file that is not there yet for one in memory.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
]
SECONDS = 30


class Operator:
    """Somebody of the staff, on the admin's pages."""

    def __init__(self, chrome: Chrome, site: str) -> None:
        self._chrome = chrome
        self._site = site

    def log_in(self, name: str, password: str) -> None:
        self._chrome.get(f"{self._site}/admin/")
        self._find("#id_username").send_keys(name)
        self._find("#id_password").send_keys(password)
        self._find("#id_password").submit()
        self.follow("Jobs")

    def follow(self, link: str) -> None:
        self._chrome.find_element(By.LINK_TEXT, link).click()

    def search(self, text: str) -> None:
        self._find("#searchbar").send_keys(text)
        self._find("#searchbar").submit()

    def choose(self, action: str, job: str) -> str:
        """Does an action to a job of the list; what the page says then."""
        row = self._chrome.find_element(By.XPATH, f"//tr[.//a[text()='{job}']]")
        row.find_element(By.CSS_SELECTOR, "input.action-select").click()
        Select(self._find("select[name=action]")).select_by_visible_text(action)
        self._find("button[name=index]").click()
        return self._find(".messagelist").text

    def column(self, name: str) -> list[str]:
        return [cell.text for cell in self._chrome.find_elements(By.CSS_SELECTOR, f"td.field-{name}, th.field-{name}")]

    def field(self, name: str) -> str:
        return self._find(f".field-{name} .readonly").text

    def back(self) -> None:
        self._chrome.back()

    def _find(self, selector: str) -> WebElement:
        """Waits for an element: a page may still be loading."""
        wait: WebDriverWait[Chrome] = WebDriverWait(self._chrome, SECONDS)
        return wait.until(lambda chrome: chrome.find_element(By.CSS_SELECTOR, selector))


@pytest.fixture
def operator(django_db_setup: None, browser: Chrome, live_server: Any) -> Iterator[Operator]:
    """A superuser who has logged in and sees the list of jobs."""
    User.objects.create_superuser("olga", password="a secret")
    one = Operator(browser, live_server.url)
    one.log_in("olga", "a secret")
    yield one
    browser.delete_all_cookies()


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    """One failed job and one scheduled."""
    queue = shop.queue("emails", attempts=1)
    queue.add("ada", id="to-ada")
    queue.run_due(refuse)
    queue.add("bob", id="to-bob", delay="1h")
    return queue


def refuse(to: str) -> None:
    raise ConnectionError(f"no server for <{to}>")


def test_an_operator_reads_why_a_job_failed(emails: Queue[Any], operator: Operator) -> None:
    operator.follow("failed")
    assert operator.column("short_error") == ["no server for <ada>"]

    operator.follow("to-ada")

    assert operator.field("error_shown") == "no server for <ada>"
    assert 'raise ConnectionError(f"no server for <{to}>")' in operator.field("traceback_shown")
    assert operator.field("value_shown") == '"ada"'


def test_an_operator_retries_a_failed_job_and_cancels_another(emails: Queue[Any], operator: Operator) -> None:
    assert operator.column("state_now") == ["scheduled", "failed"]

    assert operator.choose("Retry now", "to-ada") == "1 job starts again."
    assert operator.column("state_now") == ["scheduled", "waiting"]
    assert operator.choose("Cancel", "to-bob") == "1 job was cancelled."

    assert operator.column("named") == ["to-ada"]
    assert emails.get("to-bob") is None
    assert emails.run_due(lambda to: None) == 1


def test_an_operator_finds_a_job_by_the_beginning_of_its_id(emails: Queue[Any], operator: Operator) -> None:
    operator.search("to-b")

    assert operator.column("named") == ["to-bob"]
