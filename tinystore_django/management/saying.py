"""How a command says a line: each at once, on whatever console there is."""

from __future__ import annotations

from typing import Any


def say(out: Any, text: str) -> None:
    """Writes a line, with what the stream's encoding has no sign for as escapes."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    out.flush()
