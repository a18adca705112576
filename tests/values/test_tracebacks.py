"""The traceback that a row keeps, whatever the exception is."""

from __future__ import annotations

from typing import Any

import pytest

from tinystore_django.values import error_text, traceback_text


class Shy:
    def __dir__(self) -> Any:
        raise RuntimeError("no names for you")


class Sly(str):
    def __len__(self) -> int:
        raise RuntimeError

    def __getitem__(self, index: Any) -> str:
        raise RuntimeError


class SlyError(Exception):
    def __str__(self) -> str:
        return Sly("sly")


class Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError


class NamelessError(Exception, metaclass=Meta):
    pass


def from_shy() -> None:
    Shy().name  # type: ignore[attr-defined]  # noqa: B018


def throw(error: BaseException) -> None:
    raise error


BROKEN = [
    SyntaxError("line 3: bad", ("template.txt", 3, 1, b"the line as bytes")),
    SyntaxError("bad", ("template.txt", 3, "x", "a line")),
    SlyError(),
    NamelessError(),
]


def caught(call: Any, *arguments: Any) -> BaseException:
    try:
        call(*arguments)
    except BaseException as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: str(type.__dict__["__name__"].__get__(type(error))))
def test_an_exception_that_python_cannot_format_has_its_places_all_the_same(error: BaseException) -> None:
    text = traceback_text(caught(throw, error))

    assert text.startswith("Traceback (most recent call last")
    assert "in throw" in text
    assert error_text(error)


def test_an_attribute_error_of_an_object_that_lists_no_names_is_kept() -> None:
    error = caught(from_shy)

    assert "in from_shy" in traceback_text(error)
    assert "'Shy' object has no attribute 'name'" in traceback_text(error)


def test_a_long_traceback_keeps_its_two_ends() -> None:
    text = traceback_text(caught(throw, ValueError("a" * 50_000 + "end")))

    assert len(text) <= 40_010
    assert text.startswith("Traceback")
    assert text.endswith("end\n")
