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


def test_a_long_quote_is_cut():
    assert quoted("x" * 121) == "'" + "x" * 119 + "…"
    assert quoted("x" * 118) == repr("x" * 118)


def test_what_cannot_be_shown_is_quoted_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert quoted(Broken()) == "<Broken>"
