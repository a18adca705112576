"""An operator at a browser: jobs are found, read, retried, run and cancelled; and somebody who may only look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.byhand import LEASE
from tests.chromium import click, steadily
from tinystore_django import Queue, Store, models
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.claiming import claim

# All databases, and before the server starts: it would take a SQLite file that is not there yet for one in memory.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
]
SECONDS = 30


CHOOSE = """
    const [action, jobs] = arguments;
    for (const row of document.querySelectorAll("#result_list tbody tr")) {
        if (jobs.includes(row.querySelector(".field-named").innerText.trim())) row.querySelector("input").click();
    }
    const choice = document.querySelector("select[name=action]");
    choice.value = [...choice.options].find((one) => one.text === action).value;
    window.leaves = true;
    document.querySelector("button[name=index]").click();
"""


class Operator:
    """Somebody of the staff, on the admin's pages."""

    def __init__(self, chrome: Chrome, site: str) -> None:
        self._chrome = chrome
        self._site = site

    def log_in(self, name: str, password: str) -> None:
        """Logs in and goes to the jobs."""
        self._chrome.get(f"{self._site}/admin/")
        self._find("#id_username").send_keys(name)
        self._find("#id_password").send_keys(password)
        self._find("#id_password").submit()
        self.follow("Jobs")

    def follow(self, link: str) -> None:
        click(self._chrome, By.LINK_TEXT, link)

    def search(self, text: str) -> None:
        self._find("#searchbar").send_keys(text)
        self._find("#searchbar").submit()

    def choose(self, action: str, *jobs: str) -> str:
        """Does an action to jobs of the list; what the page says then."""
        self._find("select[name=action]")
        # All at once, since the page reads itself again.
        self._chrome.execute_script(CHOOSE, action, jobs)
        self._wait(lambda chrome: chrome.execute_script("return document.body !== null && !window.leaves"))
        return self.told()

    def press(self, button: str) -> None:
        """Presses a button of a job's page, or of one that asks whether that is meant."""
        click(self._chrome, By.CSS_SELECTOR, f"button[value='{button}'], input[type=submit][value='{button}']")

    def told(self) -> str:
        return steadily(self._chrome, lambda page: page.find_element(By.CSS_SELECTOR, ".messagelist").text)

    def became(self) -> str:
        return steadily(self._chrome, lambda page: page.find_element(By.CSS_SELECTOR, ".tinystore-gone").text)

    def open(self, page: str) -> None:
        """Goes to a page of jobs by its address."""
        self._chrome.get(f"{self._site}/admin/tinystore_django/job/{page}")

    @property
    def is_wider_than_its_window(self) -> bool:
        return bool(self._chrome.execute_script("return document.documentElement.scrollWidth > window.innerWidth"))

    def has_width(self, width: int, again: bool = True) -> None:
        """Makes the window so wide, and reads the page again there."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self._chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if again:
            self._chrome.refresh()

    def overflows(self, selector: str) -> bool:
        """Whether a part of an element is to be scrolled to in what it is in."""
        element = self._find(selector)
        within = "const box = arguments[0].parentElement; return box.scrollWidth > box.clientWidth"
        return bool(self._chrome.execute_script(within, element))

    def has(self, selector: str) -> bool:
        return bool(self._chrome.find_elements(By.CSS_SELECTOR, selector))

    def wait_for_column(self, name: str, shown: list[str]) -> None:
        """Waits until the page, read again by itself, shows this."""
        WebDriverWait(self._chrome, SECONDS).until(lambda _: self.column(name) == shown)

    def wait_until_it_was_read_again(self, seconds: float) -> None:
        """Waits so long for the page to be one that a script has read again."""
        script = "return performance.getEntriesByType('navigation')[0].type"
        WebDriverWait(self._chrome, seconds).until(lambda chrome: chrome.execute_script(script) == "reload")

    def column(self, name: str) -> list[str]:
        return self._texts(f"td.field-{name}, th.field-{name}")

    def field(self, name: str) -> str:
        self._find(f".field-{name} td")
        return self._texts(f".field-{name} td")[0]

    def _texts(self, selector: str) -> list[str]:
        """Asked for at once, since the page reads itself again."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText.trim())"
        texts: list[str] = self._chrome.execute_script(script, selector)
        return texts

    def _wait(self, condition: Any) -> None:
        WebDriverWait(self._chrome, SECONDS).until(condition)

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
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.delete_all_cookies()


@pytest.fixture
def helper(django_db_setup: None, browser: Chrome, live_server: Any) -> Iterator[Operator]:
    """Somebody who may only look."""
    user = User.objects.create_user("hal", password="a secret", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    one = Operator(browser, live_server.url)
    one.log_in("hal", "a secret")
    yield one
    browser.delete_all_cookies()


@pytest.fixture
def emails(shop: Store) -> Queue[Any]:
    """Two failed jobs, one that runs and one scheduled."""
    queue = shop.queue("emails", attempts=1)
    for name in ("ada", "bob"):
        queue.add(name, id=f"to-{name}")
    queue.run_due(refuse)
    queue.add("cyd", id="to-cyd")
    claim("default", leasing.take("default", "a worker", ["emails"], LEASE), {"emails": 1})
    queue.add("dan", id="to-dan", delay="1h")
    return queue


def refuse(to: str) -> None:
    raise ConnectionError(f"no server for <{to}>")


def test_an_operator_reads_why_a_job_failed(emails: Queue[Any], operator: Operator) -> None:
    operator.follow("failed")
    assert operator.column("short_error") == ["no server for <bob>", "no server for <ada>"]

    operator.follow("to-ada")

    assert operator.field("error_shown") == "no server for <ada>"
    assert 'raise ConnectionError(f"no server for <{to}>")' in operator.field("traceback_shown")
    assert operator.field("value_shown") == '"ada"'


def test_an_operator_retries_two_failed_jobs_and_cancels_one_that_runs(emails: Queue[Any], operator: Operator) -> None:
    assert operator.column("named") == ["to-cyd", "to-bob", "to-ada", "to-dan"]
    assert operator.column("state_now") == ["running", "failed", "failed", "scheduled"]

    assert operator.choose("Retry now", "to-ada", "to-bob") == "Retried 2 failed jobs."
    assert operator.column("state_now") == ["running", "waiting", "waiting", "scheduled"]
    assert operator.choose("Cancel", "to-cyd") == "Cancelled 1 job."
    assert operator.column("state_now") == ["cancelled", "waiting", "waiting", "scheduled"]

    assert emails.get("to-cyd") is None
    assert emails.run_due(lambda to: None) == 2


def test_an_operator_moves_a_job_and_cancels_it_by_its_buttons(emails: Queue[Any], operator: Operator) -> None:
    operator.follow("to-dan")
    operator.press("run_now")
    assert (operator.told(), operator.field("state_now")) == ("Made 1 job due now.", "waiting")

    operator.press("cancel")
    operator.press("Cancel the job")

    assert operator.told() == "Cancelled 1 job."
    assert emails.get("to-dan") is None


def test_an_operator_finds_a_job_by_the_beginning_of_its_id(emails: Queue[Any], operator: Operator) -> None:
    operator.search("to-b")
    assert operator.column("named") == ["to-bob"]


def test_a_list_shows_by_itself_what_has_become_of_its_jobs(emails: Queue[Any], operator: Operator) -> None:
    assert "to-dan" in operator.column("named")

    emails.cancel("to-dan")

    operator.wait_for_column("named", ["to-cyd", "to-bob", "to-ada"])


def test_a_job_that_ends_well_while_it_is_looked_at_stays(emails: Queue[Any], operator: Operator) -> None:
    operator.follow("to-dan")
    assert operator.field("value_shown") == '"dan"'

    emails.set("to-dan", "dan", delay="0s")
    emails.run_due(lambda to: None)

    assert operator.became() == "It is done, and removed."
    assert operator.field("value_shown") == '"dan"'
    assert not operator.has("button[name=verb]")


def test_after_an_action_the_page_is_read_again_at_once_and_what_was_done_stays(
    emails: Queue[Any], operator: Operator
) -> None:
    operator.follow("to-dan")
    operator.press("run_now")

    operator.wait_until_it_was_read_again(seconds=15)

    assert operator.field("state_now") == "waiting"
    assert operator.told() == "Made 1 job due now."


@pytest.mark.parametrize("width", [390, 1280])
def test_an_id_of_a_thousand_characters_widens_no_page(width: int, emails: Queue[Any], operator: Operator) -> None:
    emails.add(None, id="i" * 1000, group="g" * 1000, delay="1h")
    models.Job.objects.create(queue="q" * 300, value="1", at=1, due=1)
    job = models.Job.objects.get(key__startswith="ii")

    for page in ("", f"{job.pk}/change/", f"{job.pk}/history/", "cancel", "move_time"):
        if page in ("cancel", "move_time"):
            operator.open(f"{job.pk}/change/")
            operator.press(page)
        else:
            operator.open(page)
        operator.has_width(width, again=page not in ("cancel", "move_time"))
        assert not operator.is_wider_than_its_window, page
        assert page or not operator.overflows("#result_list")


@pytest.mark.parametrize("language", ["en", "de"])
def test_no_column_is_out_of_sight_on_a_small_laptop(
    language: str, emails: Queue[Any], operator: Operator, settings: Any
) -> None:
    settings.LANGUAGE_CODE = language
    emails.add(None, id="invoice:2026-11", group="a-group")
    operator.has_width(1280)

    assert operator.has(f"html[lang={language}] .column-progress_bar")
    assert not operator.overflows("#result_list")


def test_who_may_only_look_has_no_button(emails: Queue[Any], helper: Operator) -> None:
    assert len(helper.column("named")) == 4
    assert not helper.has("select[name=action], input.action-select")

    helper.follow("to-cyd")

    assert helper.field("state_now") == "running"
    assert not helper.has("button[name=verb], .submit-row")
