"""How columns are shown."""

from __future__ import annotations

from tinystore_django.admin import showing


def test_what_is_not_json_is_shown_as_it_is() -> None:
    assert "{oops &lt;b&gt;</pre>" in str(showing.json_block("{oops <b>"))


def test_json_is_shown_with_the_numbers_it_has() -> None:
    number = "1" + "0" * 5000

    assert number in str(showing.json_block(f'{{"n": {number}}}'))


def test_json_that_is_deep_is_shown_as_it_is() -> None:
    for deep in ("[" * 5000 + "]" * 5000, '{"a":' * 51 + "1" + "}" * 51):
        assert deep.replace('"', "&quot;") in str(showing.json_block(deep))


def test_json_of_a_usual_depth_is_indented() -> None:
    assert "\n" + " " * 98 + "[]\n" in str(showing.json_block("[" * 50 + "]" * 50))
    assert "\n  [],\n" in str(showing.json_block("[" + "[]," * 100 + "1]"))


def test_progress_that_does_not_read_is_shown_as_it_is() -> None:
    for text in ("[" * 3_000 + "]" * 3_000, "{", "9" * 5_000, '{"done":1e999,"total":1}'):
        assert text[:10].replace('"', "&quot;") in str(showing.bar(text))
