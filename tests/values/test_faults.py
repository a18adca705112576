"""What no row can keep, and where it stands in a value."""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.values import Codec


@dataclass
class Email:
    to: str
    subject: str = "Welcome"


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


def test_what_nests_far_too_deep_is_told_at_once() -> None:
    value = nested(300_000)
    started = time.perf_counter()

    with pytest.raises(InvalidError):
        anything.write(value)

    assert time.perf_counter() - started < 1


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


def test_a_whole_number_too_long_to_write_is_invalid() -> None:
    with pytest.raises(InvalidError, match="value: Exceeds the limit"):
        anything.write(10**5000)
