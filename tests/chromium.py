"""The browser of the tests that look at pages: Debian's chromium, driven by selenium."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

T = TypeVar("T")
SECONDS = 30

INSTALL = "apt-get install --no-install-recommends --yes chromium chromium-driver"
# Headless, able to run as root in a container, and silent on the network.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--window-size=1280,1000",
)


def missing() -> str | None:
    """What to install before a browser test can run, or None."""
    if programs() is None and _may_install():
        subprocess.run(["apt-get", "update"], check=False)
        subprocess.run(INSTALL.split(), check=False)
    return None if programs() else f"no chromium with its driver on this machine: {INSTALL}"


def _may_install() -> bool:
    """`run.py test` allows it, as root where there is an apt-get; pytest by itself installs nothing."""
    allowed = os.environ.get("TINYSTORE_TEST_INSTALL") == "yes" and os.geteuid() == 0
    return allowed and shutil.which("apt-get") is not None


def programs() -> tuple[str, str] | None:
    """The paths of the browser and its driver."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def start(profile: Path) -> Chrome:
    """A browser with its profile in that folder. quit() it."""
    found = programs()
    if found is None:
        raise RuntimeError(missing())
    options = ChromeOptions()
    # Both paths are given, so that selenium downloads nothing.
    options.binary_location, driver = found
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    return Chrome(options=options, service=ChromeService(executable_path=driver))


def steadily(chrome: Chrome, look: Callable[[Chrome], T]) -> T:
    """What a look at a page gives, once it gives anything: made again where the page reads itself again just then."""
    passing = (NoSuchElementException, StaleElementReferenceException)
    wait: WebDriverWait[Chrome] = WebDriverWait(chrome, SECONDS, ignored_exceptions=passing)
    return wait.until(look)


def click(chrome: Chrome, by: str, selector: str) -> None:
    """Waits for what is to be clicked, and clicks it."""

    def clicked(page: Chrome) -> bool:
        page.find_element(by, selector).click()
        return True

    steadily(chrome, clicked)
