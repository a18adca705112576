"""`python -m tooling.screenshots`: the pictures of the admin in docs/guides/images, taken anew.

The example project runs in a temporary place, with two queues more than it has, jobs in each state, and a worker.
A folder as an argument takes the pictures there instead; `--phone` takes narrow ones.
"""

from __future__ import annotations

import argparse
import base64
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests import chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "guides" / "images"
EXAMPLE = ROOT / "example_project"
ADMIN = "/admin/tinystore_django"
LOGIN = "olga"
WIDE, PHONE = 1440, 390
PATIENCE = 60.0

SETTINGS = """
from example_project.settings import *

INSTALLED_APPS = [*INSTALLED_APPS, "warehouse"]
ALLOWED_HOSTS = ["*"]
"""

JOBS = """
import time
from typing import Any

from tinystore_django import Concurrency, Outcome, Run, store

parcels = store.queue("parcels", dict, concurrency=Concurrency(total=4, group=2), rate="30/s", keep_done="1d")
invoices = store.queue("invoices", dict, attempts=1, timeout="10m")
stocktaking = store.schedule("stocktaking", cron="30 5 * * 1", time_zone="Europe/Berlin")


@parcels.handler
def pack(parcel: dict[str, Any], run: Run) -> None:
    run.step("weigh", lambda: {"grams": 1250})
    for percent in range(0, 101, 1):
        run.set_progress(percent)
        time.sleep(parcel["seconds"] / 100)


@invoices.handler
def write(invoice: dict[str, Any], run: Run) -> Outcome:
    run.step("total", lambda: invoice["amount"])
    return run.fail("the printer in room 12 does not answer\\nit was asked three times")


@stocktaking.handler
def count() -> None:
    pass
"""

FILL = """
import math
from django.utils import timezone
from tinystore_django.models import Minute
from tinystore_django.timing import clock
from warehouse.jobs import invoices, parcels
from shop.jobs import Confirmation, emails

for number in range(1, 5):
    invoices.add({"order": number, "amount": 19.9 * number}, id=f"invoice:{number}", group="monthly")
for number in range(1, 9):
    parcels.add({"order": number, "seconds": 600}, id=f"parcel:{number}", group=["north", "south"][number % 2])
parcels.add({"order": 10, "seconds": 1}, id="parcel:refill", every="6h")
for number in range(1, 160):
    emails.add(Confirmation(number, "ada@example.com"), id=f"reminder:{number}", delay=f"{number}m")
present = clock.now() // 60_000_000
for ago in range(1, 60):
    minute = (present - ago) * 60_000_000
    busy, few = int(40 + 30 * math.sin(ago / 7) + 7 * (ago * 37 % 5)), ago * 13 % 7
    failed = 4 if ago * 31 % 17 == 0 else 0
    Minute.objects.create(queue="emails", minute=minute, started=busy, failed=failed, longest_wait=busy**2 * 90)
    Minute.objects.create(queue="parcels", minute=minute, started=few, longest_wait=few * 1_500_000)
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tooling.screenshots")
    parser.add_argument("folder", nargs="?", type=Path, default=IMAGES)
    parser.add_argument("--phone", action="store_true", help=f"{PHONE} pixels wide, as on a phone")
    asked = parser.parse_args(arguments)
    if missing := chromium.missing():
        print(missing)
        return 1
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tinystore-shots-") as folder, project(Path(folder)) as (site, password):
        take(Path(folder), asked.folder, site, password, PHONE if asked.phone else WIDE)
    return 0


@contextmanager
def project(folder: Path) -> Iterator[tuple[str, str]]:
    """Runs the example project with a worker in a folder; its address, and the operator's password."""
    environment = prepared(folder)
    password = environment["DJANGO_SUPERUSER_PASSWORD"] = secrets.token_urlsafe(8)
    for command in (["migrate"], ["createsuperuser", "--noinput", "--username", LOGIN, "--email", "olga@shop.example"]):
        manage(environment, *command).wait()
    manage(environment, "shell", "-c", FILL).wait()
    address = f"127.0.0.1:{free_port()}"
    running = [
        manage(environment, "tinystore_work", "--no-reload", "--concurrency", "2"),
        manage(environment, "runserver", "--noreload", address),
    ]
    try:
        wait_for(f"http://{address}/admin/login/")
        yield f"http://{address}", password
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()


def prepared(folder: Path) -> dict[str, str]:
    """Writes the settings and an app more into the folder; the environment in which they are found."""
    (folder / "shots.py").write_text(SETTINGS)
    (folder / "warehouse").mkdir()
    (folder / "warehouse" / "__init__.py").touch()
    (folder / "warehouse" / "jobs.py").write_text(JOBS)
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "shots",
        "PYTHONPATH": os.pathsep.join([str(folder), str(EXAMPLE), str(ROOT)]),
        "SHOP_SQLITE": str(folder / "shop.sqlite3"),
        "SHOP_POSTGRES": "",
    }


def manage(environment: dict[str, str], *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "django", *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT if command[0] != "shell" else None,
    )


def take(profile: Path, images: Path, site: str, password: str, width: int) -> None:
    """Logs in, and takes each page in light and in dark."""
    chrome = chromium.start(profile / "chromium")
    try:
        log_in(chrome, site, password)
        wait_until(lambda: has_run(chrome, site))
        pause(chrome, site, "invoices")
        for name, address in pages(chrome, site).items():
            for scheme in ("light", "dark"):
                shoot(chrome, address, images / f"{name}-{scheme}.png", scheme, width)
    finally:
        chrome.quit()


def log_in(chrome: Chrome, site: str, password: str) -> None:
    chrome.get(f"{site}/admin/login/?next=/admin/")
    chrome.find_element(By.ID, "id_username").send_keys(LOGIN)
    chrome.find_element(By.ID, "id_password").send_keys(password)
    chrome.find_element(By.ID, "id_password").submit()
    wait_until(lambda: chrome.find_elements(By.LINK_TEXT, "Queues"))


def has_run(chrome: Chrome, site: str) -> bool:
    """Whether the invoices have failed, and the worker has written down that they did."""
    chrome.get(f"{site}{ADMIN}/queue/")
    row = chrome.find_element(By.ID, "queue-invoices").text
    return "4 started" in row and "4 failed" in row


def pause(chrome: Chrome, site: str, queue: str) -> None:
    chrome.get(f"{site}{ADMIN}/queue/")
    chrome.find_element(By.CSS_SELECTOR, f'button[name=pause][value="{queue}"]').click()
    wait_until(lambda: chrome.find_elements(By.CSS_SELECTOR, ".messagelist"))


def pages(chrome: Chrome, site: str) -> dict[str, str]:
    """The addresses of what is shown, by the names of their pictures."""
    chrome.get(f"{site}{ADMIN}/job/?state=failed")
    job = chrome.find_element(By.CSS_SELECTOR, "#result_list tbody th a").get_attribute("href")
    lists = {"queues": "queue", "schedules": "schedule", "workers": "lease", "jobs": "job"}
    addresses = {name: f"{site}{ADMIN}/{page}/" for name, page in lists.items()}
    assert job is not None
    return {**addresses, "job": job}


def shoot(chrome: Chrome, address: str, file: Path, scheme: str, width: int) -> None:
    """Takes a picture of a page down to the end of what it shows."""
    scheme_asked = [{"name": "prefers-color-scheme", "value": scheme}]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme_asked})
    size = {"width": width, "height": 600, "deviceScaleFactor": 1, "mobile": width == PHONE}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get(address)
    bottom = "return Math.ceil(document.querySelector('#content').getBoundingClientRect().bottom)"
    clip = {"x": 0, "y": 0, "width": width, "height": min(int(chrome.execute_script(bottom)), 900), "scale": 1}
    answer = chrome.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    file.write_bytes(base64.b64decode(answer["data"]))
    print(file, f"{file.stat().st_size // 1000} kB", flush=True)


def wait_for(address: str) -> None:
    def answers() -> bool:
        with suppress(OSError), urllib.request.urlopen(address):
            return True
        return False

    wait_until(answers)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {PATIENCE:.0f} s")
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
