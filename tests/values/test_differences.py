"""Every type a value may have in it: it reads back as it was, or is refused when it is written."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, Required, TypedDict, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.values import Codec, json_text

T = TypeVar("T")


BERLIN = ZoneInfo("Europe/Berlin")


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int = 0


class Pair(NamedTuple):
    left: int
    right: int


class Options(TypedDict, total=False):
    to: Required[str]
    retries: int


@dataclass(frozen=True, slots=True)
class Box(Generic[T]):
    item: T


@dataclass(eq=False)
class Incomparable:
    items: list[int]


@dataclass
class Hidden:
    name: str
    note: float | None = field(default=None, compare=False)


class Wide(NamedTuple):
    item: Any


class Tag(msgspec.Struct):
    item: Any


@dataclass
class Area:
    width: int
    height: int

    @cached_property
    def size(self) -> int:
        return self.width * self.height


KEPT: list[tuple[Any, Any]] = [
    (UUID, UUID("12345678123456781234567812345678")),
    (datetime, datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)),
    (datetime, datetime(2026, 3, 1, 12, 30)),
    (datetime, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))),
    (date, date(33, 4, 3)),
    (time, time(23, 59, 59, 999999)),
    (time, time(1, tzinfo=UTC)),
    (timedelta, timedelta.max),
    (timedelta, timedelta(microseconds=-1)),
    (Decimal, Decimal("1.500")),
    (Decimal, Decimal("-1E+400")),
    (Color, Color.RED),
    (Level, Level.HIGH),
    (Rights, Rights.READ | Rights.WRITE),
    (bytes, b"\x00\xff"),
    (set[int], {1, 2}),
    (frozenset[str], frozenset({"a"})),
    (set[Point], {Point(1)}),
    (set[tuple[int, int]], {(1, 2)}),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], ()),
    (Point, Point(1, 2)),
    (Options, {"to": "ada", "retries": 2}),
    (Options, {"retries": 2, "to": "ada"}),
    (Tag, Tag([1])),
    (Box[int], Box(1)),
    (Box[list[Decimal]], Box([Decimal("0.10")])),
    (int | None, None),
    (int | str, "1"),
    (float | int, 3),
    (Literal["a", 1], "a"),
    (list, [1, "a", None]),
    (dict, {"a": {"b": []}}),
    (Sequence[int], [1]),
    (Mapping[str, int], {"a": 1}),
    (dict[int, str], {1: "a"}),
    (dict[UUID, int], {UUID(int=1): 1}),
    (dict[date, int], {date(2026, 1, 1): 1}),
    (dict[Color, int], {Color.RED: 1}),
    (dict[float, int], {1.5: 1}),
    (int, 2**70),
    (None, None),
]


@pytest.mark.parametrize(("of", "value"), KEPT)
def test_a_value_reads_back_as_it_was(of: Any, value: Any) -> None:
    read = Codec(of).read(Codec(of).write(value))

    assert read == value
    assert repr(read) == repr(value).replace("datetime.UTC", "datetime.timezone.utc")


REFUSED: list[tuple[Any, Any]] = [
    (UUID, "12345678123456781234567812345678"),
    (int, "3"),
    (int, True),
    (int, 1.0),
    (float, 2**60 + 1),
    (float, True),
    (Decimal, 3),
    (Decimal, 1.5),
    (date, datetime(2026, 1, 1)),
    (datetime, date(2026, 1, 1)),
    (datetime, datetime(1800, 1, 1, tzinfo=BERLIN)),
    (Color, "red"),
    (Level, 3),
    (bytes, bytearray(b"a")),
    (set[int], [1]),
    (set[int], frozenset({1})),
    (list[int], (1,)),
    (tuple[int, int], [1, 2]),
    (tuple[int, int], Point(1, 2)),
    (set[tuple[int, int]], {Point(1, 2)}),
    (Point, (1, 2)),
    (Point, Pair(1, 2)),
    (Options, {"to": "ada", "other": 1}),
    (Options, {"retries": 1}),
    (dict[int | str, int], {1: 1, "1": 2}),
    (dict[bool, int], {True: 1}),
    (set, {(1, 2)}),
    (list, [(1,)]),
    (dict, {"a": datetime(2026, 1, 1)}),
    (dict, {"a": Box(1)}),
    (Literal["a"], "b"),
    (Box[int], Box("a")),
    (Hidden, Hidden("a", float("nan"))),
]


@pytest.mark.parametrize(("of", "value"), REFUSED)
def test_a_value_that_would_not_read_back_as_it_was_is_invalid(of: Any, value: Any) -> None:
    with pytest.raises(InvalidError, match=r"^value"):
        Codec(of).write(value)


@pytest.mark.parametrize("fold", [0, 1])
def test_a_moment_in_an_hour_that_clocks_repeat_keeps_its_instant_and_offset(fold: int) -> None:
    moment = datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=fold)

    read = Codec(datetime).read(Codec(datetime).write(moment))

    assert (read.utcoffset(), read.timestamp()) == (moment.utcoffset(), moment.timestamp())
    assert Codec(set[datetime]).write({moment}) == f'["{moment.isoformat()}"]'


def test_an_int_will_do_for_a_float() -> None:
    assert Codec(list[float]).read(Codec(list[float]).write([1, 2.0])) == [1.0, 2.0]


def test_an_enums_member_will_do_for_text_where_the_type_says_text() -> None:
    class Kind(enum.StrEnum):
        NEWS = "news"

    assert Codec(Box[str]).write(Box(Kind.NEWS)) == '{"item":"news"}'


def test_a_class_without_equality_is_compared_by_its_fields() -> None:
    codec = Codec(Incomparable)

    assert codec.read(codec.write(Incomparable([1]))).items == [1]
    with pytest.raises(InvalidError, match=r"value\.items"):
        codec.write(Incomparable((1,)))  # type: ignore[arg-type]


@pytest.mark.parametrize("of", [Wide, Tag, Box])
def test_what_is_wrong_in_a_field_is_told_with_its_name(of: Any) -> None:
    with pytest.raises(InvalidError, match=r"^value\.item: \(1,\) would read back as \[1\]$"):
        Codec(of).write(of((1,)))
    with pytest.raises(InvalidError, match=r"^value\.item\['a'\]: JSON has no object; give its parts"):
        Codec(of).write(of({"a": object()}))


def test_numbers_of_a_subclass_will_do() -> None:
    class Whole(int):
        pass

    class Real(float):
        pass

    assert Codec(list[float]).write([Real(1.5), Whole(2)]) == "[1.5,2]"
    assert Codec(Any).write([Real(1.5), Whole(2)]) == "[1.5,2]"


def test_what_a_value_computed_for_itself_does_not_travel() -> None:
    area = Area(2, 3)
    assert area.size == 6

    assert Codec(Area).write(area) == '{"width":2,"height":3}'


def test_a_dict_that_is_shown_otherwise_than_it_is_kept_is_invalid() -> None:
    from django.utils.datastructures import MultiValueDict

    with pytest.raises(InvalidError, match=r"value\['a'\]: '2' would read back as \['1', '2'\]"):
        Codec(Any).write(MultiValueDict({"a": ["1", "2"]}))


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (time, time(12, tzinfo=BERLIN)),
        (time | None, time(12, tzinfo=BERLIN)),
        (dict[str, time], {"at": time(12, tzinfo=BERLIN)}),
        (dict[time, int], {time(12, tzinfo=BERLIN): 1}),
        (tuple[int, time], (1, time(12, tzinfo=BERLIN))),
    ],
)
def test_a_time_is_never_kept_without_its_zone(of: Any, value: Any) -> None:
    with pytest.raises(InvalidError, match="its zone has no offset without a date; give a datetime"):
        Codec(of).write(value)


def test_an_answer_with_a_time_is_never_kept_without_its_zone() -> None:
    with pytest.raises(InvalidError, match=r"^answer\['at'\]: its zone has no offset without a date"):
        json_text({"at": time(12, 30, 1, 5, tzinfo=BERLIN)}, "answer", 100)

    assert (
        json_text([time(12), time(12, tzinfo=UTC), "12:00:00"], "answer", 100) == '["12:00:00","12:00:00Z","12:00:00"]'
    )
