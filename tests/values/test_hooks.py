"""pydantic's models as values, alone and in other types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, SecretStr, computed_field

from tinystore_django.errors import CorruptError, InvalidError
from tinystore_django.values import Codec


class Item(BaseModel):
    price: Decimal
    count: int = 1


class Cart(BaseModel):
    items: list[Item] = []
    at: datetime | None = None
    tags: set[str] = set()
    weight: float | None = None


class Special(Cart):
    bonus: int = 0


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    at: datetime
    tags: frozenset[int]


class Named(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(alias="theName")

    @computed_field
    def size(self) -> int:
        return len(self.name)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Secretive(BaseModel):
    name: str
    token: str = Field(default="", exclude=True)
    _seen: int = PrivateAttr(default=0)


class Login(BaseModel):
    password: SecretStr


class Names(RootModel[list[str]]):
    pass


@dataclass
class Order:
    cart: Cart
    others: list[Cart]
    by_name: dict[str, Item]
    maybe: Item | None = None


MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (Cart, Cart(items=[Item(price=Decimal("1.50"))], at=MOMENT, tags={"a", "b"}, weight=1.5)),
        (Strict, Strict(at=MOMENT, tags=frozenset({1, 2}))),
        (Named, Named(theName="ada")),
        (Open, Open(name="a", more=[1])),  # type: ignore[call-arg]
        (Secretive, Secretive(name="a")),
        (Names, Names(["a", "b"])),
        (Item | None, None),
        (Order, Order(Cart(), [Cart(tags={"a"})], {"a": Item(price=Decimal(2))}, Item(price=Decimal(3)))),
    ],
)
def test_a_pydantic_model_reads_back_as_it_was(of: Any, value: Any) -> None:
    codec = Codec(of)

    assert codec.read(codec.write(value)) == value


def with_token() -> Secretive:
    return Secretive(name="a", token="b")


def with_seen() -> Secretive:
    value = Secretive(name="a")
    value._seen = 3
    return value


@pytest.mark.parametrize(
    ("of", "value", "message"),
    [
        (Cart, Special(bonus=3), "value: Special("),
        (
            Cart,
            Cart.model_construct(items=[Item.model_construct(price=Decimal(1), count="x")]),
            "value: items.0.count: Input",
        ),
        (
            Cart,
            Cart.model_construct(items=[Item.model_construct(price=Decimal(1), count="3")]),
            r"value.items[0].count: '3' would",
        ),
        (
            Item,
            Item.model_construct(price=Decimal(1), count=True),
            "value.count: True would read back as 1",
        ),
        (Login, Login(password=SecretStr("a")), "value.password: SecretStr('**********') would read back as"),
        (Open, Open(name="a", more=(1,)), "value.__pydantic_extra__['more']: (1,) would read back as [1]"),  # type: ignore[call-arg]
        (Cart, Cart(weight=float("nan")), "value.weight: JSON has no nan"),
        (Cart, Cart(tags={"a\0"}), "value.tags[0]: take out U+0000"),
        (Secretive, with_token(), "value.token: 'b' would read back as ''"),
        (Secretive, with_seen(), "value.__pydantic_private__['_seen']: 3 would read back as 0"),
        (Order, Order(Special(), [], {}), "value.cart: Special("),
        (dict, {"a": Cart()}, "value['a']: Cart("),
        (Any, {"a": Cart()}, "value['a']: JSON has no Cart; give the queue a type"),
    ],
)
def test_a_pydantic_model_that_would_not_read_back_is_invalid(of: Any, value: Any, message: str) -> None:
    with pytest.raises(InvalidError) as raised:
        Codec(of).write(value)

    assert str(raised.value).startswith(message)


def test_a_text_that_is_no_such_model_is_corrupt_and_says_where() -> None:
    with pytest.raises(CorruptError) as raised:
        Codec(Order).read('{"cart":{},"others":[{},{"items":[{"price":"1"},{"count":2}]}],"by_name":{}}')

    assert str(raised.value) == "value.others[1]: items.1.price: Field required"


def test_what_a_models_own_code_raises_makes_a_text_corrupt() -> None:
    class Odd(BaseModel):
        name: str

        def model_post_init(self, _context: Any) -> None:
            raise (LookupError if self.name else ValueError)("no such name")

    class Odder(Odd):
        @classmethod
        def model_validate_json(cls, *_args: Any, **_options: Any) -> Any:
            raise ValueError("no such name")

    for of, text in [(Odd, '{"name":"a"}'), (Odd, '{"name":""}'), (Odder, "{}")]:
        with pytest.raises(CorruptError, match="^value: (Value error, )?no such name$"):
            Codec(of).read(text)


def test_a_models_instance_inside_is_asked_for_its_pk() -> None:
    class Row:
        _meta = object()
        pk = 7

    class Holder(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        row: Row

    with pytest.raises(InvalidError, match=r"value\.row: it is a model's instance: send its pk, value\.row\.pk"):
        Codec(Holder).write(Holder(row=Row()))
