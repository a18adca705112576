"""Django's own log of what was done in the admin: one entry an action, however many rows it was done to."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from ..lifecycle.locking import known
from .aliases import known_aliases

LONGEST_NAME = 200


def entry(request: HttpRequest, model: type[Model], name: str, text: str, object_id: str | None = None) -> None:
    """Writes what who asks has done: to one object, which has it in its history, or to many. Recent actions show the
    name alone."""
    LogEntry.objects.create(
        user_id=known(request.user.pk),
        content_type=ContentType.objects.get_for_model(model, for_concrete_model=False),
        object_id=object_id,
        object_repr=f"{name[: LONGEST_NAME - 1]}…" if len(name) > LONGEST_NAME else name,
        action_flag=CHANGE,
        change_message=text,
    )


def entries(model: type[Model], object_id: str) -> QuerySet[Any]:
    """What was done to one object, in order."""
    of_model = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(model, for_concrete_model=False))
    return of_model.filter(object_id=object_id).select_related("user").order_by("action_time", "pk")


def object_id(alias: str, key: int) -> str:
    """What the log calls a row by: its primary key, behind its database where that is not the first, whose rows the
    links of the log lead to."""
    return str(key) if alias == known_aliases()[0] else f"{alias}:{key}"
