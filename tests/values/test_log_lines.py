"""What stands in the log: text of rows begins no line, and moves no terminal."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from tests.programs import wait_for
from tests.test_house import read, sources
from tinystore_django import Queue, Store
from tinystore_django.lifecycle import flaws
from tinystore_django.values.log_lines import Lines

logger = logging.getLogger("tinystore_django")
FORGED = "x\n2026-12-01 INFO emails id=1 done\r\x1b[2J\x9b1m\u2028\u202e"
SHOWN = r"x\n2026-12-01 INFO emails id=1 done\r\x1b[2J\x9b1m\u2028\u202e"


def test_a_text_is_one_line_whatever_it_holds(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("a job %s, %r and %d", FORGED, "default", 7)

    assert [record.getMessage() for record in caplog.records] == [f"a job {SHOWN}, 'default' and 7"]


def test_what_is_no_text_is_written_as_one(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("it raised %s", ValueError(FORGED))

    assert caplog.records[0].getMessage() == f"it raised {SHOWN}"


def test_several_lines_that_are_meant_stay(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("at\n%s", Lines("one\n\ttwo\x1b[2J"))

    assert caplog.records[0].getMessage() == "at\none\n\ttwo\\x1b[2J"


def test_a_traceback_moves_no_terminal(caplog: pytest.LogCaptureFixture) -> None:
    logger.error("stumbled", exc_info=ValueError("\x1b[2J"))

    assert "ValueError: \\x1b[2J" in caplog.text
    assert caplog.records[0].exc_info is not None


def test_what_has_no_text_is_left_to_the_handlers() -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    mute = Mute()
    record = logging.LogRecord("tinystore_django", logging.INFO, "", 1, "%s", (mute,), None)

    assert logger.filter(record)
    assert record.args == (mute,)


@pytest.mark.django_db(transaction=True)
def test_a_jobs_id_error_and_queue_begin_no_line(shop: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tinystore_django")
    queue: Queue[Any] = shop.queue("emails", attempts=1)
    queue.add(None, id=FORGED)
    queue.handler(refuse)

    with queue.work():
        wait_for(lambda: caplog.records)
    flaws.tell(FORGED, FORGED)

    assert len(caplog.records) >= 2
    for record in caplog.records:
        assert re.search(r"[^\x20-\x7e]", record.getMessage()) is None, record.getMessage()


def refuse(value: object) -> None:
    raise ValueError(FORGED)


def test_every_module_logs_to_the_logger_that_escapes() -> None:
    named = {name for path in sources() for name in re.findall(r"getLogger\((.*?)\)", read(path))}

    assert named == {'"tinystore_django"'}
