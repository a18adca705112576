"""Where the statements of a text of SQL begin, found in a time that grows with the text's length alone."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

_SEMICOLON = re.compile(";")
_LINE_END = re.compile("\n")
_BLOCK_END = re.compile(r"\*/")
_BLANK = re.compile(r"\s*+")


def beginnings(sql: str) -> Iterator[int]:
    """Yields each place where a statement may begin: behind a semicolon, and behind each comment that follows there.

    A semicolon in a literal counts too: what is text to one database may end a statement on another.
    """
    lines, blocks = _ends(sql, "--", _LINE_END), _ends(sql, "/*", _BLOCK_END)
    seen = set[int]()
    for behind in [0, *(found.end() for found in _SEMICOLON.finditer(sql))]:
        start: int | None = behind
        while start is not None and start not in seen:
            seen.add(start)
            begins = _BLANK.match(sql, start).end()  # type: ignore[union-attr]  # it matches nothing, too
            yield begins
            start = _comment_end(sql, begins, lines, blocks)


def _ends(sql: str, opening: str, closing: re.Pattern[str]) -> list[int]:
    """The places behind each end of a comment, found once: one may be the end of as many as the text has places."""
    return [found.end() for found in closing.finditer(sql)] if opening in sql else []


def _comment_end(sql: str, at: int, lines: list[int], blocks: list[int]) -> int | None:
    """Returns where the comment ends that begins there; None where none does, or it has no end."""
    if sql.startswith("--", at):
        ends, least = lines, at
    elif sql.startswith("/*", at):
        ends, least = blocks, at + len("/**/")
    else:
        return None
    place = bisect_left(ends, least)
    return ends[place] if place < len(ends) else None
