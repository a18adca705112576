"""What `manage.py check` says of a project whose queues no worker would find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sites import APPS, django

QUEUE = """
from tinystore_django import store
{name} = store.queue("{name}")
"""
HANDLED = QUEUE + "{name}.handler(print)\n"
Check = Callable[..., str]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Gives what the command says of a project with these files."""
    return lambda **given: django(tmp_path, "check", **given).stderr


def test_files_that_no_worker_imports_are_told(check: Check, tmp_path: Path) -> None:
    said = check(
        **{
            "shop/jobs": HANDLED.format(name="found"),
            "shop/tasks": HANDLED.format(name="unfound"),
            "mysite/jobs": HANDLED.format(name="beside"),
            "shop/tasks/__init__": HANDLED.format(name="package"),
            "mysite/tasks": "from tinystore_django import Run  # declares nothing\n",
            "shop/urls": "import shop.tasks, mysite.jobs\nurlpatterns = []\n",
        }
    )

    assert f"(tinystore.W002) {tmp_path}/shop/tasks.py declares queues or handlers, and no worker imports it" in said
    assert "HINT: rename it to jobs.py, or import it from the app's jobs.py" in said
    assert f"(tinystore.W002) {tmp_path}/shop/tasks/__init__.py declares queues" in said
    assert f"(tinystore.W002) {tmp_path}/mysite/jobs.py declares queues" in said
    assert "HINT: move it into an installed app, or add 'mysite' to INSTALLED_APPS" in said
    assert said.count("tinystore.") == 3


def test_files_that_a_worker_imports_are_not(check: Check) -> None:
    said = check(
        apps=f'{APPS}, "mysite"',
        **{
            "shop/jobs": "from shop.tasks import emails\n",
            "shop/tasks": HANDLED.format(name="emails"),
            "mysite/jobs": HANDLED.format(name="beside"),
        },
    )

    assert "tinystore." not in said


def test_a_queue_without_a_handler_in_any_app_is_told_with_its_place(check: Check, tmp_path: Path) -> None:
    jobs = QUEUE.format(name="emails") + QUEUE.format(name="orders") + 'store.schedule("nightly", every="1h")\n'
    handlers = "from shop.jobs import orders\norders.handler(print)\n"
    said = check(apps=f'{APPS}, "mysite"', **{"shop/jobs": jobs, "mysite/jobs": handlers})

    where = f"declared in {tmp_path}/shop/jobs.py"
    assert f"(tinystore.W003) queue 'emails', {where}:3, has no handler in any installed app: no worker runs it" in said
    assert f"(tinystore.W003) schedule 'nightly', {where}:7, has no handler" in said
    assert said.count("tinystore.") == 2


def test_an_app_that_is_imported_and_not_installed_is_told(check: Check) -> None:
    jobs = HANDLED.format(name="emails")
    early = check(apps='"shop"', **{"shop/jobs": jobs, "shop/models": "import shop.jobs"})
    late = check(apps='"shop"', **{"shop/jobs": jobs, "shop/models": "", "shop/urls": "import shop.jobs"})

    assert "(tinystore.E005) tinystore_django is imported, and is not in INSTALLED_APPS: it has no tables" in early
    assert "Traceback" not in early
    assert "ImproperlyConfigured: tinystore_django is imported, and is not in INSTALLED_APPS: it has no tables" in late


def test_a_handler_that_cannot_be_called_ends_the_command_with_its_place(check: Check, tmp_path: Path) -> None:
    said = check(**{"shop/jobs": QUEUE.format(name="emails") + "@emails.handler\ndef send(): ...\n"})

    assert f"handler send ({tmp_path}/shop/jobs.py:4) of queue 'emails' takes (): write it as (value) or" in said
