"""--reload: new code runs in the same process, broken code does not end it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Program, other_settings, wait_for, worker
from tests.project.models import Mark
from tinystore_django import Queue, Store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.once]
JOBS = """
from tests.project.models import Mark
from tinystore_django import store

shop = store.queue("shop", str)


@shop.handler
def sell(value: str) -> None:
    Mark.objects.create(name=f"{value} by the %s code")
"""


class Shop:
    """A project that is being written while a worker runs it."""

    def __init__(self, folder: Path) -> None:
        self.jobs = folder / "shop" / "jobs.py"
        self.jobs.parent.mkdir()
        (folder / "shop" / "__init__.py").touch()
        self.write(JOBS % "first")
        self.settings = other_settings(folder, "shop_settings", 'INSTALLED_APPS.append("shop")')
        # Declared here in a store of its own: the worker's is another process.
        self.queue: Queue[str] = Store().queue("shop", str)

    def write(self, code: str) -> None:
        self.jobs.write_text(code)

    def sells(self, value: str) -> str:
        """Adds a job, and waits for what its handler makes of it."""
        self.queue.add(value)
        return wait_for(lambda: Mark.objects.filter(name__startswith=value).first()).name


def starts(program: Program) -> int:
    return len(program.said("tinystore_django", "runs"))


def test_a_worker_runs_new_code_in_the_same_process(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    with worker("shop", "--reload", **shop.settings) as one:
        assert shop.sells("a") == "a by the first code"
        shop.write(JOBS % "second")
        wait_for(lambda: starts(one) == 2)
        assert shop.sells("b") == "b by the second code"

    assert {mark.process for mark in Mark.objects.all()} == {one.pid}
    assert one.said("shop/jobs.py changed: starting again")


def test_a_worker_goes_on_with_the_old_code_while_the_new_one_is_broken(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    with worker("shop", "--reload", **shop.settings) as one:
        assert shop.sells("a") == "a by the first code"
        shop.write("def sell(")
        one.wait_for_line("shop/jobs.py changed, but does not load yet")
        assert shop.sells("b") == "b by the first code"
        shop.write(JOBS % "third")
        wait_for(lambda: starts(one) == 2)
        assert shop.sells("c") == "c by the third code"

    assert {mark.process for mark in Mark.objects.all()} == {one.pid}
