"""The texts of the package as its sources have them, and as its catalogues do, without a gettext program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from gettext import GNUTranslations
from pathlib import Path

from django.utils.translation.template import templatize

import tinystore_django

PACKAGE = Path(tinystore_django.__file__).parent
# The arguments of each that are a text's context, the text and its plural form.
KINDS = {"": (None, 0, None), "n": (None, 0, 1), "p": (0, 1, None), "np": (0, 1, 2)}
CALLS = {"_": KINDS[""], "gettext_noop": KINDS[""]} | {
    f"{kind}gettext{end}": places for kind, places in KINDS.items() for end in ("", "_lazy")
}
LITERAL = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
IN_TEMPLATE = re.compile(rf" (?:_|n?p?gettext)\({LITERAL}(?:, ?{LITERAL})*(?:, ?count)?\)")
PO_LINE = re.compile(r'(?:(msgctxt|msgid|msgid_plural|msgstr(?:\[\d\])?) )?(".*")')


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is translated."""

    context: str | None
    text: str
    plural: str | None = None


@dataclass(slots=True)
class Entry:
    """A text of a catalogue, its translations by the plural form, and its flags."""

    text: Text
    said: list[str]
    flags: set[str]


def of_sources() -> set[Text]:
    """Every text that the modules and the templates of the package ask to be translated."""
    modules = (text for path in PACKAGE.rglob("*.py") for text in _of_module(ast.parse(path.read_text())))
    templates = (text for path in PACKAGE.rglob("*.html") for text in _of_template(path.read_text()))
    return {*modules, *templates}


def folder(language: str) -> Path:
    return PACKAGE / "locale" / language / "LC_MESSAGES"


def entries(language: str) -> list[Entry]:
    """The entries of a language's .po file, without its header."""
    blocks = (folder(language) / "django.po").read_text().strip().split("\n\n")
    return [_entry(block) for block in blocks[1:]]


def compiled(language: str) -> GNUTranslations:
    """A language's .mo file."""
    with (folder(language) / "django.mo").open("rb") as file:
        return GNUTranslations(file)


def _of_module(tree: ast.Module) -> Iterator[Text]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CALLS:
            literals = [one.value if isinstance(one, ast.Constant) else None for one in call.args]
            context, text, plural = (place if place is None else literals[place] for place in CALLS[call.func.id])
            # None: a word that Django's own catalogues have, looked up by what it is.
            if text is not None:
                yield Text(context, text, plural)


def _of_template(source: str) -> Iterator[Text]:
    for call in IN_TEMPLATE.findall(templatize(source)):
        yield from _of_module(ast.parse(call.strip()))


def _entry(block: str) -> Entry:
    parts: dict[str, str] = {}
    name = ""
    for line in block.splitlines():
        if found := PO_LINE.fullmatch(line):
            name = found[1] or name
            parts[name] = parts.get(name, "") + ast.literal_eval(found[2])
    flags = {flag.strip() for line in block.splitlines() if line.startswith("#,") for flag in line[2:].split(",")}
    said = [text for part, text in parts.items() if part.startswith("msgstr")]
    return Entry(Text(parts.get("msgctxt"), parts.get("msgid", ""), parts.get("msgid_plural")), said, flags)
