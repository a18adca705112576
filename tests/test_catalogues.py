"""The catalogues hold all that an operator reads, and nothing that is wrong in a page."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.utils import translation

from tests.catalogues import Entry, compiled, entries, of_sources
from tinystore_django.timing.wording import _WEEKDAYS

LANGUAGES = ["de", "fr"]
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%")
# Of a text between quotes in a template, which is not escaped: as markup.
MARKUP = re.compile(r'[<>&"]')


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_sources_have_texts_of_every_kind() -> None:
    texts = of_sources()

    assert len(texts) > 150
    assert any(text.context for text in texts)
    assert {"Retried %(count)s failed job.", "the beginning of an id", "Finished steps", "every day"} <= {
        text.text for text in texts
    }
    assert any("matches" in text.text and text.plural for text in texts)


def test_a_catalogue_has_each_text_of_the_sources_once_and_no_other(language: str) -> None:
    assert Counter(entry.text for entry in entries(language)) == Counter(of_sources())


def test_a_catalogue_leaves_nothing_empty_or_unsure(language: str) -> None:
    open_ = [entry for entry in entries(language) if not all(entry.said) or "fuzzy" in entry.flags]

    assert open_ == []


def test_a_text_has_as_many_translations_as_it_has_forms(language: str) -> None:
    assert [one for one in entries(language) if len(one.said) != (2 if one.text.plural else 1)] == []


def test_a_translation_has_the_placeholders_of_its_text(language: str) -> None:
    assert [entry for entry in entries(language) if not _keeps_placeholders(entry)] == []


def test_a_translation_has_nothing_that_markup_would_read(language: str) -> None:
    assert [entry for entry in entries(language) if any(MARKUP.search(said) for said in entry.said)] == []


def test_the_compiled_catalogue_says_what_the_written_one_does(language: str) -> None:
    catalogue = compiled(language)._catalog  # type: ignore[attr-defined]
    del catalogue[""]

    assert catalogue == {key: said for entry in entries(language) for key, said in _compiled(entry)}


@pytest.mark.parametrize("weekday", _WEEKDAYS)
def test_django_itself_translates_the_weekdays(weekday: str, language: str) -> None:
    with translation.override(language):
        assert translation.gettext(weekday) != weekday


def _keeps_placeholders(entry: Entry) -> bool:
    wanted = Counter(PLACEHOLDER.findall(entry.text.text))
    return all(Counter(PLACEHOLDER.findall(said)) == wanted for said in entry.said)


def _compiled(entry: Entry) -> list[tuple[object, str]]:
    """What a .mo file has of an entry, by the keys that `gettext` reads it with."""
    key = f"{entry.text.context}\x04{entry.text.text}" if entry.text.context else entry.text.text
    return [((key, form) if entry.text.plural else key, said) for form, said in enumerate(entry.said)]
