"""Where a text was found not to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import pytest
from msgspec import Meta

from tinystore_django.errors import CorruptError
from tinystore_django.values import Codec


@dataclass
class Email:
    to: str
    lines: list[dict[str, Decimal]] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    weight: float | None = None


emails = Codec(Email)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"subject":"Hi"}', "value: Object missing required field to"),
        ('{"to":3}', "value.to: Expected str, got int"),
        ('{"to":"ada","marks":{"a":1,"b":2,"c":"x","d":4}}', "value.marks['c']: Expected int, got str"),
        (
            '{"to":"ada","lines":[{"price":"1"},{"price":"x"}]}',
            "value.lines[1]['price']: Invalid decimal string",
        ),
        ('{"to":"ada","marks":{"a":1,"b":"x"},"weight":"y"}', "value.marks['b']: Expected int, got str"),
        ('{"to":"ada"', "value: Input data was truncated"),
        ("[]", "value: Expected object, got array"),
        ("", "value: Input data was truncated"),
    ],
)
def test_a_text_that_does_not_read_is_corrupt_and_says_what_is_wrong_and_where(text: str, message: str) -> None:
    with pytest.raises(CorruptError) as raised:
        emails.read(text)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("of", "text", "message"),
    [
        (dict[int, int], '{"1":1,"x":2}', "value: its key 'x': Expected int, got str"),
        (list[dict[int, int]], '[{"1":1},{"1":1,"x":2,"3":3}]', "value[1]: its key 'x': Expected int, got str"),
        (dict[str, dict[str, int]], '{"a":{"a":1},"b":{"a":1,"b":""}}', "value['b']['b']: Expected int, got str"),
        (TypedDict("Dotted", {"a.b": dict[str, int]}), '{"a.b":{"c":""}}', "value.a.b[...]: Expected int, got str"),
    ],
)
def test_what_is_wrong_in_a_dict_is_told_with_its_key(of: Any, text: str, message: str) -> None:
    with pytest.raises(CorruptError) as raised:
        Codec(of).read(text)

    assert str(raised.value) == message


def test_a_text_too_deep_to_read_is_corrupt() -> None:
    with pytest.raises(CorruptError, match="value: it nests too deep"):
        Codec(Any).read("[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize(
    ("of", "text", "message"),
    [
        (Email, '{"to":3}', "value.to: Expected str, got int"),
        (Email, '{"to":"ada","weight":"x"}', "value.weight: Expected float | null, got str"),
        (Email, "{}", "value: Object missing required field to"),
        (Email, '{"to":"ada","lines":[{"a":"1"},{"a":"x"}]}', "value.lines[1][...]: Invalid decimal string"),
        (Email, '{"to":"ada","lines":[{"a":"1"},{"a":[1]}]}', "value.lines[1][...]: Expected decimal, got array"),
        (dict[int, int], '{"x":1}', "value: its key: Expected int, got str"),
        (Literal["a"], '"x"', "value: it is not of its type"),
        (Annotated[str, Meta(max_length=1)], '"xx"', "value: Expected str of length <= 1"),
        (Annotated[int, Meta(ge=1)], "0", "value: Expected int >= 1"),
        (dict, "{", "value: Input data was truncated"),
        (int, "x", "value: JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_why_a_text_does_not_read_is_told_without_what_it_says_too(of: Any, text: str, message: str) -> None:
    with pytest.raises(CorruptError) as raised:
        Codec(of).read(text)

    assert raised.value.without_values == message
