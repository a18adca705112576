"""The log of this package: what goes wrong with a line costs the line alone."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest

from tests.test_house import read, sources
from tinystore_django.log import logger

OURS = logging.getLogger("tinystore_django")


class Broken(logging.Handler):
    """Raises what it is given, as a filter and as a handler."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def emit(self, record: logging.LogRecord) -> None:
        raise self.error


@pytest.fixture
def handlers() -> Iterator[list[logging.Handler]]:
    before = list(OURS.handlers)
    yield OURS.handlers
    OURS.handlers[:] = before


@pytest.mark.parametrize("error", [ValueError("a bug"), SystemExit(3)], ids=repr)
def test_a_handler_that_raises_costs_the_line_which_goes_to_stderr(
    error: BaseException, handlers: list[logging.Handler], capsys: pytest.CaptureFixture[str]
) -> None:
    handlers.append(Broken(error))

    logger.warning("job %s has ended", 7)

    assert "job 7 has ended" in capsys.readouterr().err


def test_a_filter_that_raises_costs_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(record: logging.LogRecord) -> bool:
        raise KeyError("tenant")

    OURS.addFilter(broken)
    try:
        logger.error("an error", exc_info=ValueError("no luck"))
    finally:
        OURS.removeFilter(broken)

    assert "an error\n(not logged: KeyError: 'tenant')" in capsys.readouterr().err


def test_a_closed_stderr_raises_nothing(handlers: list[logging.Handler], monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def write(self, text: str) -> int:
            raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(sys, "stderr", Closed())
    handlers.append(logging.StreamHandler())

    logger.warning("a line")


def test_arguments_that_cannot_be_written_raise_nothing(handlers: list[logging.Handler]) -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    handlers.append(Broken(ValueError()))

    logger.warning("%s", Mute())


def test_a_line_is_in_the_name_of_its_caller(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("a line")
    try:
        raise ValueError("no luck")
    except ValueError:
        logger.exception("another")

    assert [record.funcName for record in caplog.records] == ["test_a_line_is_in_the_name_of_its_caller"] * 2
    assert "ValueError: no luck" in caplog.text


def test_no_module_logs_past_it() -> None:
    past = [str(path) for path in sources() if "getLogger(" in read(path) and path.name != "log.py"]

    assert past == []
