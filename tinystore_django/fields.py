"""Two kinds of column: an instant kept as microseconds, and text in the order of its bytes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.dateparse import parse_datetime

from .errors import quoted
from .log import logger
from .timing import clock
from .timing.clock import EARLIEST, LATEST
from .timing.moments import instant

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

    InstantBase = models.Field[datetime | int | None, datetime | None]
    ByteTextBase = models.TextField[str | None, str | None]
else:
    InstantBase = models.BigIntegerField
    ByteTextBase = models.TextField

MOST_TOLD = 1_000  # times that are told of in one process, each once
_told: set[tuple[str, str, str]] = set()


class InstantField(InstantBase):
    """An instant: an aware datetime in UTC to Python, whole microseconds since 1970 in its row.

    An integer orders and compares alike on every database, whatever USE_TZ and TIME_ZONE say. Lookups take
    datetimes (naive ones as `at` takes them) and integers.
    """

    validators: Any = ()  # those of a BigIntegerField compare with integers

    def get_internal_type(self) -> str:
        return "BigIntegerField"

    def from_db_value(self, value: int | None, expression: Any, connection: Any) -> datetime | None:
        if value is None:
            return None
        if type(value) is int and EARLIEST <= value <= LATEST:
            return clock.to_datetime(value)
        return self._nearest(value)

    def _nearest(self, value: Any) -> datetime:
        """What somebody wrote by hand, and no datetime can say: a query that raised would give no row at all."""
        told = (self.model._meta.db_table, self.name, str(value)[:40])
        if told not in _told and len(_told) < MOST_TOLD:
            _told.add(told)
            logger.warning("a row of %s has %s %s, a time outside the years 1 to 9999", *told)
        # SQLite takes text for a number, and sorts it behind all of them.
        return clock.to_datetime(int(max(min(value, LATEST), EARLIEST)) if isinstance(value, int | float) else LATEST)

    def to_python(self, value: Any) -> Any:
        """Reads what a fixture holds too: microseconds, or an ISO time."""
        if isinstance(value, str):
            value = int(value) if value.lstrip("-").isdecimal() else _parsed(value)
        return clock.to_datetime(value) if isinstance(value, int) else value

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, str):
            value = self.to_python(value)
        return instant(value, self.name) if isinstance(value, datetime) else value

    def value_to_string(self, obj: models.Model) -> str:
        value = self.value_from_object(obj)
        return "" if value is None else str(self.get_prep_value(value))

    def formfield(self, **kwargs: Any) -> Any:
        return forms.DateTimeField(**{"required": not self.blank, "label": self.verbose_name, **kwargs})


def as_it_stands(column: str) -> models.ExpressionWrapper[Any]:
    """The number that an instant's column holds, in a query: to compare with it again, also outside the calendar."""
    return models.ExpressionWrapper(models.F(column), models.Field())


def _parsed(text: str) -> datetime:
    parsed = parse_datetime(text)
    if parsed is None:
        raise ValidationError(f"{quoted(text)}: write a time as 2026-03-01T12:00:00Z, or as microseconds since 1970")
    return parsed


class ByteTextField(ByteTextBase):
    """Text compared byte by byte on every database, so that a prefix is a range of an index."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        parameters = super().db_parameters(connection)
        # SQLite's own default, BINARY, is that order already.
        if connection.vendor == "postgresql":
            parameters["collation"] = "C"
        return parameters
