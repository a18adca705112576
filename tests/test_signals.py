"""The signals of a job's life: who hears of what."""

from __future__ import annotations

from typing import Any

import pytest
from django.dispatch import receiver

from tinystore_django.signals import QueueSignal


@pytest.mark.parametrize("name", ["emails", "async-emails"])
def test_a_receiver_of_one_queue_hears_of_it_by_its_name_and_of_no_other(name: str) -> None:
    signal = QueueSignal()
    heard: list[Any] = []

    @receiver(signal, sender=name)
    def listen(sender: str, id: str, **kwargs: Any) -> None:
        heard.append((sender, id))

    signal.send_robust("".join(list(name)), id="x")  # an equal text, and not the same
    signal.send_robust("others", id="y")

    assert heard == [(name, "x")]
    assert (signal.has_listeners("".join(list(name))), signal.has_listeners("others")) == (True, False)


def test_a_receiver_that_was_disconnected_hears_no_more() -> None:
    signal = QueueSignal()

    def listen(**kwargs: Any) -> None:
        raise AssertionError

    signal.connect(listen, sender="async-emails")

    assert signal.disconnect(listen, sender="".join(["async-", "emails"])) is True
    assert signal.send_robust("async-emails") == []


def test_a_receiver_of_all_queues_hears_of_each() -> None:
    signal = QueueSignal()
    heard: list[str] = []

    def listen(sender: str, **kwargs: Any) -> None:
        heard.append(sender)

    signal.connect(listen)
    for name in ("emails", "orders"):
        signal.send_robust(name)

    assert heard == ["emails", "orders"]
