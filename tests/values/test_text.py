"""Text that every database can keep."""

from __future__ import annotations

import enum
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinystore_django.errors import InvalidError
from tinystore_django.values import check_text, clean, cut, error_text, first_line, is_text, plain

GOOD = ["a", " ", "chat:42%_", "é" * 512, "a" * 1024, "😀", "\x01\n"]
BAD: list[Any] = ["", "a" * 1025, "é" * 513, "a\0", "\ud800", "a\udfffb", None, 3, b"a", ["a"]]


@pytest.mark.parametrize("text", GOOD)
def test_text_that_can_be_kept_is_given_back(text: str) -> None:
    assert check_text(text, "id") == text
    assert is_text(text)


@pytest.mark.parametrize("text", BAD)
def test_text_that_cannot_be_kept_is_invalid(text: Any) -> None:
    with pytest.raises(InvalidError, match=r"^id "):
        check_text(text, "id")
    assert not is_text(text)


def test_an_error_quotes_what_was_given_and_says_what_to_write() -> None:
    for text, message in [
        ("", "group '': write 1 to 1,024 bytes of UTF-8"),
        (3, "group 3: write it as text, 1 to 1,024 bytes of UTF-8"),
        ("a\0", r"group 'a\x00': take out U+0000, which PostgreSQL cannot keep"),
        ("\ud83d", r"group '\ud83d': take out the lone surrogate U+D83D, which PostgreSQL cannot keep"),
    ]:
        with pytest.raises(InvalidError) as raised:
            check_text(text, "group")
        assert str(raised.value) == message


def test_an_error_is_short_however_long_the_text() -> None:
    with pytest.raises(InvalidError) as raised:
        check_text("a" * 5_000_000, "id")

    assert len(str(raised.value)) < 200


def test_the_limit_can_be_another() -> None:
    assert check_text("é" * 128, "step", 256)
    with pytest.raises(InvalidError, match="1 to 256 bytes"):
        check_text("é" * 128 + "a", "step", 256)


def test_a_subclass_of_text_becomes_plain_text() -> None:
    class Kind(enum.StrEnum):
        NEWS = "news"

    assert type(check_text(Kind.NEWS, "id")) is str
    assert check_text(Kind.NEWS, "id") == "news"


def test_what_cannot_be_kept_is_replaced() -> None:
    assert clean("a\0b\ud800c\udfff") == "a\ufffdb\ufffdc\ufffd"
    assert clean("é😀\n") == "é😀\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("abcd", "abcd"),
        ("abcde", "abcd…"),
        ("éé", "éé"),
        ("aéé", "aé…"),
        ("😀", "😀"),
        ("a😀", "a…"),
    ],
)
def test_a_text_is_cut_between_characters(text: str, kept: str) -> None:
    assert cut(text, 4) == kept


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30), st.integers(1, 40))
def test_a_cut_keeps_as_much_as_fits(text: str, limit: int) -> None:
    kept = cut(text, limit)

    if len(text.encode()) <= limit:
        assert kept == text
    else:
        start = kept.removesuffix("…")
        assert kept == start + "…"
        assert text.startswith(start)
        assert len(start.encode()) <= limit < len(text[: len(start) + 1].encode())


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such order"), "no such order"),
        (ValueError(), "ValueError"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (Unspeakable(), "Unspeakable"),
        (KeyError("a"), "'a'"),
        (ValueError("a\0\ud800"), "a\ufffd\ufffd"),
        ("out of stock", "out of stock"),
        ("", ""),
        (404, "404"),
    ],
)
def test_an_error_is_kept_as_its_text_or_its_class(error: object, text: str) -> None:
    assert error_text(error) == text


def test_a_long_error_is_cut_at_4096_bytes() -> None:
    assert error_text(ValueError("a" * 4096)) == "a" * 4096
    assert error_text(ValueError("a" * 4097)) == "a" * 4096 + "…"
    assert error_text(ValueError("é" * 2049)) == "é" * 2048 + "…"
    assert error_text(ValueError("a" + "é" * 2048)) == "a" + "é" * 2047 + "…"
    assert error_text(ValueError("\0" * 2000)) == "\ufffd" * 1365 + "…"


def test_an_error_of_megabytes_takes_no_longer_than_a_short_one() -> None:
    error = ValueError("é" * 5_000_000)
    started = time.perf_counter()

    for _ in range(100):
        error_text(error)

    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no luck", "no luck"),
        ("\nfirst\nsecond", "first"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        ("\x1b[31mred", "\\x1b[31mred"),
    ],
)
def test_a_first_line_is_short_and_harmless_to_a_terminal(text: str, line: str) -> None:
    assert first_line(text) == line


def test_plain_text_has_no_line_ends() -> None:
    assert plain("a\nb\x00é") == "a\\nb\\x00é"
