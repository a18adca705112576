"""A typed value and the JSON that its row keeps: written once by `Codec.write`, read back by `Codec.read`.

Python's types go through msgspec. What it would change on the way (NaN, a subclass, a tuple where the type
says nothing) is refused when the value is written, so that a handler gets what its program added.
"""

from .answers import codec_of, json_text, read_json, read_loosely
from .codec import LONGEST_VALUE, Codec
from .places import is_bare
from .text import check_text, class_name, clean, cut, error_text, first_line, is_text, may_name, plain
from .tracebacks import traceback_text

__all__ = [
    "LONGEST_VALUE",
    "Codec",
    "check_text",
    "class_name",
    "clean",
    "codec_of",
    "cut",
    "error_text",
    "first_line",
    "is_bare",
    "is_text",
    "json_text",
    "may_name",
    "plain",
    "read_json",
    "read_loosely",
    "traceback_text",
]
