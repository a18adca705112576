"""JSON of no type in particular: what a step answers, how far a run is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from tinystore_django.errors import CorruptError, InvalidError, LimitError
from tinystore_django.values import json_text, read_json


@dataclass
class Receipt:
    number: int
    at: datetime


class Page(BaseModel):
    title: str


RECEIPT = Receipt(7, datetime(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ([None, "null", "é"], '[null,"null","é"]'),
        ((1, 2.5), "[1,2.5]"),
        ({1: "a"}, '{"1":"a"}'),
        (RECEIPT, '{"number":7,"at":"2026-03-01T00:00:00Z"}'),
        ([Page(title="a"), Decimal("1.50")], '[{"title":"a"},"1.50"]'),
        (r"\u0000", r'"\\u0000"'),
        ("NaN", '"NaN"'),
    ],
)
def test_what_json_can_write_is_written_compact(value: Any, text: str) -> None:
    assert json_text(value, "answer", 100) == text


def test_what_was_written_reads_as_plain_json_or_into_a_type() -> None:
    text = json_text(RECEIPT, "answer", 100)

    assert read_json(text) == {"number": 7, "at": "2026-03-01T00:00:00Z"}
    assert read_json(text, Receipt) == RECEIPT
    assert read_json("[1]", list[int]) == [1]
    with pytest.raises(CorruptError, match="value: Expected object, got array"):
        read_json("[1]", Receipt)


def test_a_type_that_is_none_is_invalid() -> None:
    with pytest.raises(InvalidError, match=r"type \[<class 'int'>\]"):
        read_json("[1]", [int])


class Row:
    _meta = object()
    pk = 7


def loop() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "answer: JSON has no object; give its parts"),
        ([1, {"a": {1, object}}], "answer[1]['a']"),
        ({"a": float("nan")}, "answer['a']: JSON has no nan"),
        ([Decimal("Infinity")], "answer[0]: JSON has no Infinity"),
        ({"a": ["b\0"]}, "answer['a'][0]: take out U+0000"),
        ({"b\ud800": 1}, r"answer: its key 'b\ud800': take out the lone surrogate U+D800"),
        ({(1, 2): 1}, "answer: JSON has no key (1, 2); write it as text"),
        ({"row": Row()}, "answer['row']: it is a model's instance: send its pk, answer['row'].pk"),
        (loop(), "answer: it nests too deep, or holds itself"),
        ([nested(100)], "answer: it nests deeper than 200"),
        (nested(50_000), "answer: it nests too deep"),
    ],
)
def test_what_json_cannot_write_is_invalid_and_says_where(value: Any, message: str) -> None:
    with pytest.raises(InvalidError) as raised:
        json_text(value, "answer", 10_000_000)

    assert str(raised.value).startswith(message)


def test_what_is_wide_is_not_deep() -> None:
    value = [nested(99)] * 10

    assert read_json(json_text(value, "answer", 10_000)) == value


def test_the_limit_counts_bytes() -> None:
    assert json_text("é" * 4, "progress", 10) == '"éééé"'
    with pytest.raises(LimitError, match="progress: 11 bytes of JSON; at most 10 can be kept"):
        json_text("é" * 4 + "a", "progress", 10)
