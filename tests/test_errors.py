import pytest

from tinystore_django import errors
from tinystore_django.errors import InvalidError, TinystoreError, quoted


@pytest.mark.parametrize("name", ["InvalidError", "LimitError", "ConflictError", "CorruptError", "RunStopped"])
def test_one_except_catches_every_error(name):
    assert issubclass(getattr(errors, name), TinystoreError)


def test_an_invalid_argument_is_a_value_error_too():
    assert issubclass(InvalidError, ValueError)


def test_a_quote_is_a_repr():
    assert quoted("5 s") == "'5 s'"


def test_of_a_long_text_both_ends_are_quoted():
    assert quoted("a" + "x" * 200 + "b") == "'a" + "x" * 36 + "..." + "x" * 37 + "b'"
    assert quoted("x" * 78) == repr("x" * 78)


@pytest.mark.parametrize("given", [["x" * 100] * 100, {"x" * 100: "y" * 100}, b"x" * 1000, 10**3000, "\U000e0001" * 80])
def test_no_quote_buries_its_message(given):
    assert len(quoted(given)) <= 121


def test_what_cannot_be_shown_is_quoted_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert quoted(Broken()) == "<Broken>"
