"""Which types a queue may have."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tinystore_django.errors import InvalidError
from tinystore_django.values import Codec


class Order:
    _meta = object()
    pk = 7


class Plain:
    pass


@dataclass
class Parcel:
    order: Order


@dataclass
class Tree:
    children: list[Tree]
    leaf: Plain | None = None


@dataclass
class Folder:
    inside: list[Folder]


@dataclass
class Unfinished:
    later: Nowhere  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (Plain, "type Plain: JSON cannot keep Plain; write a dataclass"),
        (dict[str, Plain], "with Plain in it: JSON cannot keep Plain"),
        (Tree, "type Tree with Plain in it"),
        (complex, "type complex: JSON cannot keep complex"),
        (Callable[[], int], "JSON cannot keep Callable"),
        (lambda: 3, "is not supported; write one that JSON can keep"),
        ("Email", "type 'Email'"),
        (3, "type 3"),
        (enum.Enum("Size", {"S": 1.5}), "type Size: Enums must contain either all str or all int"),
        (int | dict[str, int] | Parcel, "may not contain more than one"),
        (Unfinished, "type Unfinished: name 'Nowhere' is not defined in its module"),
    ],
)
def test_a_type_that_json_cannot_keep_is_refused_by_name(of: Any, message: str) -> None:
    with pytest.raises(InvalidError) as raised:
        Codec(of)

    assert message in str(raised.value)


@pytest.mark.parametrize("of", [Order, Parcel, list[Order], Order | None])
def test_a_model_is_refused_and_its_pk_is_asked_for(of: Any) -> None:
    with pytest.raises(InvalidError, match="a model's instance is not kept; send its pk"):
        Codec(of)


def test_a_model_of_django_is_a_model() -> None:
    from django.contrib.auth.models import User

    with pytest.raises(InvalidError, match="type User: a model's instance is not kept; send its pk"):
        Codec(User)
    with pytest.raises(InvalidError, match=r"^value\['user'\]: it is a model's instance"):
        Codec[Any](Any).write({"user": User(username="ada")})


def test_annotations_that_raise_are_refused_with_what_they_raise() -> None:
    @dataclass
    class Odd:
        field: "1 / 0"  # type: ignore[valid-type]  # noqa: UP037

    with pytest.raises(InvalidError, match="type .*Odd: division by zero"):
        Codec(Odd)


def test_a_type_may_hold_itself() -> None:
    folder = Folder([Folder([])])

    assert Codec(Folder).read(Codec(Folder).write(folder)) == folder


def test_object_is_another_name_for_anything() -> None:
    assert Codec(dict[str, object]).read('{"a":[1]}') == {"a": [1]}
    with pytest.raises(InvalidError, match="give the queue a type"):
        Codec(object).write((1,))
