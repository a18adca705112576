"""A thread of a worker's own that ends by an error ends the worker, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from tinystore_django import Store
from tinystore_django.management.commands import tinystore_work
from tinystore_django.worker.listening import Listening
from tinystore_django.worker.loop import Loop
from tinystore_django.worker.shutdown import Shutdown
from tinystore_django.worker.upkeep import Upkeep
from tinystore_django.worker.worker import Worker

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


class OddError(BaseException):
    pass


class Pulse:
    def done(self) -> None: ...


@pytest.mark.parametrize(("part", "name"), [(Loop, "_round"), (Upkeep, "_tend"), (Listening, "_listen")], ids=str)
def test_the_command_ends_with_1_and_a_line(
    part: Any, name: str, shop: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(thread: Any) -> Any:
        raise OddError("a bug")

    monkeypatch.setattr(part, name, breaks)
    queue = shop.queue("emails")
    queue.handler(lambda value: None)
    worker = Worker([queue._declaration])

    assert tinystore_work._work([worker], Shutdown(), None, Pulse()) == 1  # type: ignore[arg-type]
    assert "the worker ends: its thread tinystore-" in caplog.text
    assert "OddError: a bug" in caplog.text
