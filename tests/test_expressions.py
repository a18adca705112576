"""No text from outside takes a regular expression, or what is done with it, a time that grows faster than it does."""

from __future__ import annotations

import enum
import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest

import tinystore_django
from tests.growth import MOST, growth
from tinystore_django.admin import showing
from tinystore_django.admin.stored import WRITTEN, _pattern, translated
from tinystore_django.errors import TinystoreError, quoted
from tinystore_django.timing.crontab import crontab
from tinystore_django.timing.durations import duration
from tinystore_django.timing.rates import rate
from tinystore_django.timing.repeats import read
from tinystore_django.values import Codec, clean, first_line, json_text, plain
from tinystore_django.worker.connections import changes_session

PACKAGE = Path(tinystore_django.__file__).parent
AT_ONCE = re.compile(r"\bre\.(?:match|search|fullmatch|sub|split|findall|finditer)\(")

# What the expressions look for, to be repeated, and what may stand before it.
PUMPS = ["-", "--\n", "/* a */ ", ";", ";--", ";/*", " ", "\n", "'", "\\", "\\u0000", "0", "a", "%(", "{[", "1/"]
PUMPS += [" - at `$", "key` in `$", ".a[...]", "[1", "@every ", "1 ", "set ", "create ", "set_config ", "pragma ", ":i"]
STARTS = ["", "set", "create temp", "@every 1", "pragma synchronous", "[", "1/"]


class Kind(enum.Enum):
    A = "a"


def expressions() -> dict[str, re.Pattern[Any]]:
    modules = [
        importlib.import_module(one.name)
        for one in pkgutil.walk_packages(tinystore_django.__path__, "tinystore_django.")
    ]
    found = {f"{module.__name__}.{name}": one for module in modules for name, one in vars(module).items()}
    written = {f"stored: {one}": _pattern(one) for one in WRITTEN}
    return written | {name: one for name, one in found.items() if isinstance(one, re.Pattern)}


def texts() -> Iterator[Callable[[int], str]]:
    for start, pump in product(STARTS, PUMPS):
        yield lambda n, start=start, pump=pump: start + pump * (n // len(pump)) + "!"  # type: ignore[misc]


def refused(call: Callable[[str], object]) -> Callable[[str], object]:
    def called(text: str) -> None:
        with suppress(TinystoreError):
            call(text)

    return called


def grown(call: Callable[[str], object]) -> list[str]:
    """The texts, shortly, for which a call takes more than thrice as long when they are twice as long."""
    return [text(40) for text in texts() if growth(call, text) >= MOST]


def test_each_expression_has_a_name_by_which_it_is_found_here() -> None:
    sources = [path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts]

    assert [path.name for path in sources if AT_ONCE.search(path.read_text())] == []


@pytest.mark.parametrize("expression", expressions().values(), ids=expressions().keys())
def test_an_expression_looks_through_a_text_once(expression: re.Pattern[Any]) -> None:
    if isinstance(expression.pattern, bytes):
        assert grown(lambda text: expression.search(text.encode())) == []
    else:
        assert grown(lambda text: (expression.search(text), expression.fullmatch(text))) == []


CALLS: dict[str, Callable[[str], object]] = {
    "a statement of a handler's": changes_session,
    "a member": lambda text: Codec(Kind).write(text),
    "a kept member": lambda text: Codec(Kind).read(json.dumps(text)),
    "a literal in a dict": lambda text: Codec(dict[str, Literal["a"]]).write({text: text}),
    "a kept value": lambda text: Codec(dict[str, int]).read(text),
    "an answer": lambda text: json_text({text: text}, "answer", 1_000_000),
    "a span": lambda text: duration(text, "delay"),
    "a rate": rate,
    "a crontab": crontab,
    "a kept repeat": read,
    "an error's line": first_line,
    "a text for a terminal": plain,
    "a text to be kept": clean,
    "a quote": quoted,
    "an error in the admin": translated,
    "a value in the admin": showing.json_block,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_call_is_done_with_a_text_in_a_time_that_grows_as_the_text_does(call: Callable[[str], object]) -> None:
    assert grown(refused(call)) == []
