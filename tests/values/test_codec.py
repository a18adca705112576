"""What a queue's type makes of a value, and of a text."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinystore_django.errors import CorruptError, InvalidError, LimitError
from tinystore_django.values import LONGEST_VALUE, Codec


@dataclass(frozen=True)
class Line:
    price: Decimal
    count: int = 1


@dataclass
class Email:
    to: str
    subject: str = "Welcome"
    lines: list[Line] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    weight: float | None = None


@dataclass
class Newsletter(Email):
    issue: int = 0


emails = Codec(Email)


anything = Codec[Any](Any)


def test_a_value_is_written_as_compact_json_with_its_characters_as_they_are() -> None:
    text = emails.write(Email("ada@example.org", "Grüße", [Line(Decimal("1.50"))]))

    assert text == (
        '{"to":"ada@example.org","subject":"Grüße","lines":[{"price":"1.50","count":1}],"marks":{},"weight":null}'
    )


def test_a_value_reads_back_as_it_was() -> None:
    email = Email("ada", lines=[Line(Decimal("1.50"), 2)], marks={"a": 1}, weight=1.5)

    assert emails.read(emails.write(email)) == email


def test_unknown_keys_are_ignored_and_missing_ones_take_their_default() -> None:
    assert emails.read('{"to":"ada","cc":["bob"]}') == Email("ada")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Email(3), "value.to: Expected str, got int"),  # type: ignore[arg-type]
        (Email(None), "value.to: Expected str, got null"),  # type: ignore[arg-type]
        (Email("a", lines=[Line(Decimal(1)), Line(2)]), "value.lines[1].price: 2 would read back as Decimal"),  # type: ignore[arg-type]
        (Email("a", lines=[Line(Decimal(1), True)]), "value.lines[0].count: Expected int, got bool"),
        (Email("a", lines=[Line(Decimal(1), 1.0)]), "value.lines[0].count: Expected int, got float"),  # type: ignore[arg-type]
        (Email("a", marks={"a": 1, "b": "2"}), "value.marks['b']: Expected int, got str"),  # type: ignore[dict-item]
        (Email("a", marks={1: 1}), "value.marks: its key 1 would not read back"),  # type: ignore[dict-item]
        (Email("a", marks={True: 1}), "value.marks: JSON has no key True; write it as text"),  # type: ignore[dict-item]
        (
            Email("a", lines=(Line(Decimal(1)),)),
            "value.lines: (Line(price=Decimal('1'), count=1),) would read back as [",
        ),  # type: ignore[arg-type]
        (Newsletter("a", issue=3), "value: Newsletter(to='a', "),
        ({"to": "a"}, "value: {'to': 'a'} would read back as Email(to='a'"),
        ("a", "value: Expected object, got str; give the queue's Email"),
        ({"from": "a"}, "value: Object missing required field to; give the queue's Email"),
    ],
)
def test_a_value_of_another_type_is_invalid_and_says_what_is_wrong_and_where(value: Any, message: str) -> None:
    with pytest.raises(InvalidError) as raised:
        emails.write(value)

    assert str(raised.value).startswith(message)


def test_an_error_names_what_was_written() -> None:
    with pytest.raises(InvalidError, match=r"^the new value\.to: Expected str"):
        emails.write(Email(3), "the new value")  # type: ignore[arg-type]


def test_a_mebibyte_is_kept_and_a_byte_more_is_too_much() -> None:
    fits = "é" * ((LONGEST_VALUE - 2) // 2)

    assert len(anything.write(fits).encode()) == LONGEST_VALUE
    with pytest.raises(LimitError, match=r"value: 1,048,577 bytes of JSON; at most 1,048,576"):
        anything.write(fits + "a")


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1, 1.5, -0.0, 1e300, "é", [], {}, {"a": [1, {"b": None}]}, 2**63, -(2**64), 10**400],
)
def test_a_queue_without_a_type_keeps_what_json_has(value: Any) -> None:
    read = anything.read(anything.write(value))

    assert read == value
    assert type(read) is type(value)


def test_two_codecs_of_one_type_are_equal() -> None:
    assert Codec(Email) == emails
    assert Codec(Newsletter) != emails


def test_whatever_a_class_raises_as_it_is_read_makes_a_text_corrupt_and_a_value_invalid() -> None:
    codec = Codec(Touchy)
    value = Touchy(1)
    value.number = -1

    with pytest.raises(InvalidError, match="value: no key for -1"):
        codec.write(value)
    with pytest.raises(CorruptError, match="value: no key for -2"):
        codec.read('{"number":-2}')


@dataclass
class Touchy:
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ArithmeticError(f"no key for {self.number}")


def test_memory_that_runs_out_is_no_fault_of_the_value() -> None:
    with pytest.raises(MemoryError):
        Codec(Hungry).read("{}")
    with pytest.raises(MemoryError):
        Codec(Hungry).write(Hungry.__new__(Hungry))


@dataclass
class Hungry:
    size: int = 0

    def __post_init__(self) -> None:
        raise MemoryError


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_whatever_json_has_reads_back_or_is_refused(value: Any) -> None:
    codec = Codec[Any](Any)
    keepable = "\0" not in str(value) and r"\x00" not in repr(value)

    try:
        assert codec.read(codec.write(value)) == value
    except InvalidError:
        assert not keepable


@given(st.datetimes(timezones=st.timezones() | st.none()), st.timedeltas(), st.decimals(allow_nan=False))
def test_moments_spans_and_decimals_read_back_exactly_or_are_refused(
    moment: datetime, span: timedelta, number: Decimal
) -> None:
    codec = Codec(tuple[datetime, timedelta, Decimal])

    try:
        read = codec.read(codec.write((moment, span, number)))
    except InvalidError:
        assert not number.is_finite() or (moment.utcoffset() or timedelta()).seconds % 60
    else:
        assert (read[0].replace(tzinfo=None), read[0].utcoffset()) == (
            moment.replace(tzinfo=None),
            moment.utcoffset(),
        )
        assert (read[1], str(read[2])) == (span, str(number))


def test_subclasses_of_what_json_has_are_kept_as_what_they_are() -> None:
    from django.utils.safestring import mark_safe

    value = OrderedDict(a=mark_safe("<b>"), b=type("Numbers", (list,), {})([1]))

    read = anything.read(anything.write(value))

    assert read == {"a": "<b>", "b": [1]}
    assert [type(read), *map(type, read.values())] == [dict, str, list]


# How deep a text may nest is the interpreter's to say: from 1,000 levels on 3.11 to some 10,000 on 3.13.
DEEP = 400_000


@pytest.mark.parametrize("text", ["9" * 5_000, '{"to":1e999}', "[" * DEEP + "]" * DEEP, '{"a":{"b":1e999}}', "{", ""])
def test_whatever_a_text_is_that_does_not_read_it_is_a_corrupt_error(text: str) -> None:
    for codec in (emails, anything, Codec(dict[str, int])):
        with pytest.raises(CorruptError, match="value"):
            codec.read(text)
