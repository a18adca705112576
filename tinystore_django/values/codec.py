"""Codec: what a queue's type makes of a value, and of the text in a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..errors import CorruptError, LimitError, brief
from .differences import difference
from .faults import fault
from .parts import field_names, refused, told
from .places import bare, stumble
from .shapes import decoder_for
from .writing import NUL_REFUSED, check_size, encode, has_nul

T = TypeVar("T")

LONGEST_VALUE = 1024 * 1024


# Without slots: on Python 3.11, Codec[int](int) fails for a frozen class that has them.
@dataclass(frozen=True)
class Codec(Generic[T]):
    """How values of one type are written as JSON and read back; quick to use, cheap to keep.

    Raises InvalidError when it is made, unless JSON can keep values of that type.
    """

    of: type[T]  # or Any, or a union: no type to a type checker, so given as Any
    _decode: Callable[[bytes | str], T] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_decode", decoder_for(self.of))

    def write(self, value: T, what: str = "value") -> str:
        """Returns the value as compact JSON.

        Raises InvalidError, with what is wrong and where, unless the JSON reads back as the value it was;
        LimitError if it has more than 1 MiB in UTF-8.
        """
        data = b""
        try:
            data = encode(value)
            check_size(data, what, LONGEST_VALUE)
            found = difference(value, self._decode(data), self._plain)
        except (LimitError, MemoryError):
            raise
        except Exception as error:  # a class of the program's own may raise anything as it is written or read
            if wrong := fault(value, what, self._plain, error):
                raise refused(wrong, what) from error
            way, why = stumble(error, what, data, self._decode)
            raise refused((way, brief(why) + self._instead(value)), what) from error
        if found or has_nul(data):
            way, why = found or ("", NUL_REFUSED)
            raise refused(fault(value, what, self._plain) or (what + way, why), what)
        return data.decode()

    def read(self, text: str) -> T:
        """Returns the value that a row's text says. Raises CorruptError, with what is wrong and where."""
        try:
            return self._decode(text)
        except MemoryError:
            raise
        except Exception as error:  # as above
            found = stumble(error, "value", text, self._decode)
            raise CorruptError(told(found), without_values=bare(error, "value")) from error

    def _instead(self, value: object) -> str:
        """What to give, where the value is not of the queue's class."""
        of: Any = self.of
        if not isinstance(of, type) or not field_names(of) or isinstance(value, of):
            return ""
        return f"; give the queue's {of.__name__}"

    @property
    def _plain(self) -> bool:
        return self.of is Any or self.of is object
