"""Django's own log of what was done in the admin: one entry an action, however many rows it was done to."""

from __future__ import annotations

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest

from ..lifecycle.locking import known

LONGEST_NAME = 200


def entry(request: HttpRequest, model: type[Model], text: str, obj: Model | None = None) -> None:
    """Writes what who asks has done: to one object, which has it in its history, or to many."""
    LogEntry.objects.create(
        user_id=known(request.user.pk),
        content_type=ContentType.objects.get_for_model(model),
        object_id=None if obj is None else str(obj.pk),
        object_repr=str(model._meta.verbose_name_plural if obj is None else obj)[:LONGEST_NAME],
        action_flag=CHANGE,
        change_message=text,
    )
