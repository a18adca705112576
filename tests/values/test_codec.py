"""What a queue's type makes of a value: the contract of writing and reading."""

from __future__ import annotations

import enum
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypedDict

import pytest

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


class Kind(enum.StrEnum):
    NEWS = "news"


class Row:
    """Looks like a Django model's instance, as far as values need to know one."""

    _meta = object()
    pk = 7


emails = Codec(Email)
anything = Codec[Any](Any)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


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
    ("text", "message"),
    [
        ('{"subject":"Hi"}', "value: Object missing required field to"),
        ('{"to":3}', "value.to: Expected str, got int"),
        ('{"to":"ada","marks":{"a":1,"b":2,"c":"x","d":4}}', "value.marks['c']: Expected int, got str"),
        (
            '{"to":"ada","lines":[{"price":"1"},{"price":"x"}]}',
            "value.lines[1].price: Invalid decimal string",
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
        anything.read("[" * 100_000 + "]" * 100_000)


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
        ("a", "value: Expected object, got str"),
    ],
)
def test_a_value_of_another_type_is_invalid_and_says_what_is_wrong_and_where(value: Any, message: str) -> None:
    with pytest.raises(InvalidError) as raised:
        emails.write(value)

    assert str(raised.value).startswith(message)


def test_an_error_names_what_was_written() -> None:
    with pytest.raises(InvalidError, match=r"^the new value\.to: Expected str"):
        emails.write(Email(3), "the new value")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("sNaN")])
def test_a_number_that_is_none_is_invalid(number: Any) -> None:
    with pytest.raises(InvalidError, match=r"value\[1\]: JSON has no .*(nan|inf|NaN).*; give a finite number"):
        Codec(list[type(number) | None]).write([None, number])  # type: ignore[misc]


@pytest.mark.parametrize("key", [float("inf"), Decimal("Infinity")])
def test_a_key_that_is_no_finite_number_is_invalid(key: Any) -> None:
    with pytest.raises(InvalidError, match="its key .*: JSON has no .*nf"):
        Codec(dict[type(key), int]).write({key: 1})  # type: ignore[misc]


@pytest.mark.parametrize("text", ["a\0", "\0", "\\\0", "\ud800", "a\udfff"])
def test_text_that_postgresql_cannot_keep_is_invalid_anywhere(text: str) -> None:
    for value, way in [
        (text, "value: take"),
        ([{"a": text}], r"value\[0\]\['a'\]: take"),
        ({"a": {text: 1}}, r"value\['a'\]: its key .*: take"),
    ]:
        with pytest.raises(InvalidError, match=way + r" out (U\+0000|the lone surrogate U\+D)"):
            anything.write(value)
    with pytest.raises(InvalidError, match="value.subject: take out"):
        emails.write(Email("a", text))


def test_a_backslash_before_u0000_is_text_like_any_other() -> None:
    for text in (r"\u0000", r"\\u0000", "\\"):
        assert anything.read(anything.write(text)) == text


def test_an_enum_whose_text_cannot_be_kept_is_invalid() -> None:
    odd = enum.Enum("odd", {"NUL": "a\0"})

    with pytest.raises(InvalidError, match=r"value: take out U\+0000"):
        Codec(odd).write(odd["NUL"])


def test_a_mebibyte_is_kept_and_a_byte_more_is_too_much() -> None:
    fits = "é" * ((LONGEST_VALUE - 2) // 2)

    assert len(anything.write(fits).encode()) == LONGEST_VALUE
    with pytest.raises(LimitError, match=r"value: 1,048,577 bytes of JSON; at most 1,048,576"):
        anything.write(fits + "a")


def test_a_way_of_hundreds_of_steps_is_cut() -> None:
    with pytest.raises(InvalidError) as raised:
        anything.write(nested(201))

    assert str(raised.value).startswith("value[0][0]")
    assert str(raised.value).endswith("[0]…: it nests deeper than 200")
    assert len(str(raised.value)) < 250


@pytest.mark.parametrize("value", [nested(201), {"a": nested(201)}, nested(100_000)])
def test_what_nests_too_deep_is_invalid(value: Any) -> None:
    with pytest.raises(InvalidError, match="it nests (deeper than 200|too deep)"):
        anything.write(value)


def test_what_holds_itself_is_invalid() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["again"] = [loop, loop]

    with pytest.raises(InvalidError, match="nests too deep, or holds itself"):
        anything.write(loop)


def test_what_is_near_the_limit_of_depth_reads_back() -> None:
    assert anything.read(anything.write(nested(200))) == nested(200)


@pytest.mark.parametrize(
    ("codec", "value", "way"),
    [
        (anything, Row(), "value"),
        (anything, {"order": [Row()]}, "value['order'][0]"),
        (emails, Row(), "value"),
        (emails, Email(Row()), "value.to"),
        (Codec(dict[str, Any]), {"order": {1: Row()}}, "value['order'][1]"),
    ],
)
def test_a_models_instance_is_invalid_and_its_pk_is_asked_for(codec: Codec[Any], value: Any, way: str) -> None:
    with pytest.raises(InvalidError) as raised:
        codec.write(value)

    assert str(raised.value).startswith(f"{way}: it is a model's instance: send its pk, {way}.pk")


def test_a_lazy_object_is_invalid_and_is_not_fetched() -> None:
    from django.utils.functional import SimpleLazyObject

    user = SimpleLazyObject(lambda: pytest.fail("it was fetched"))

    with pytest.raises(InvalidError, match=r"value\['user'\]: it is lazy, .* send the pk"):
        anything.write({"user": user})


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1, 1.5, -0.0, 1e300, "é", [], {}, {"a": [1, {"b": None}]}, 2**63, -(2**64), 10**400],
)
def test_a_queue_without_a_type_keeps_what_json_has(value: Any) -> None:
    read = anything.read(anything.write(value))

    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        (1,),
        {1},
        datetime(2026, 1, 1, tzinfo=UTC),
        Decimal(1),
        b"a",
        Email("a"),
        Kind.NEWS,
        enum.IntEnum("N", "A").A,
    ],
)
def test_a_queue_without_a_type_asks_for_one_where_json_has_none(value: Any) -> None:
    for given, way in [(value, "value"), ({"a": [value]}, r"value\['a'\]\[0\]")]:
        with pytest.raises(InvalidError, match=f"{way}: JSON has no .*; give the queue a type"):
            anything.write(given)


@pytest.mark.parametrize("key", [1, None, 1.5, (1, 2), Kind.NEWS])
def test_a_queue_without_a_type_takes_text_alone_for_keys(key: Any) -> None:
    with pytest.raises(InvalidError, match=r"value\['a'\]: its key .* is no text; give the queue a type"):
        anything.write({"a": {key: 1}})


def test_subclasses_of_what_json_has_are_kept_as_what_they_are() -> None:
    from django.utils.safestring import mark_safe

    value = OrderedDict(a=mark_safe("<b>"), b=type("Numbers", (list,), {})([1]))

    read = anything.read(anything.write(value))

    assert read == {"a": "<b>", "b": [1]}
    assert [type(read), *map(type, read.values())] == [dict, str, list]


def test_a_whole_number_too_long_to_write_is_invalid() -> None:
    with pytest.raises(InvalidError, match="value: Exceeds the limit"):
        anything.write(10**5000)


def test_two_codecs_of_one_type_are_equal() -> None:
    assert Codec(Email) == emails
    assert Codec(Newsletter) != emails
