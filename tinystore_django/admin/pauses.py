"""The buttons that pause and resume, which queues and schedules share."""

from __future__ import annotations

from collections.abc import Container

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext as _

from ..errors import InvalidError
from ..lifecycle.pausing import pause, resume
from ..options import check_name
from . import log
from .pages import PageAdmin, may

PERMISSION = "pause_queue"


class PausingAdmin(PageAdmin):
    """A page with a button to pause or resume each of its rows."""

    def names(self, alias: str) -> Container[str]:
        """The names of the page's rows."""
        raise NotImplementedError

    def operate(self, request: HttpRequest, alias: str) -> None:
        verb = next((one for one in ("pause", "resume") if one in request.POST), None)
        if verb is None or not may(request, PERMISSION):
            raise PermissionDenied
        name = checked(request.POST[verb])
        if name not in self.names(alias):
            self.message_user(
                request, _("There is no %(name)s: nothing is changed.") % {"name": name}, messages.WARNING
            )
        elif verb == "pause":
            self.say(
                request,
                name,
                pause(alias, name),
                _("Paused %(name)s."),
                _("Nothing is changed: %(name)s was paused already."),
            )
        else:
            self.say(
                request,
                name,
                resume(alias, name),
                _("Resumed %(name)s."),
                _("Nothing is changed: %(name)s was not paused."),
            )

    def say(self, request: HttpRequest, name: str, done: bool, said: str, otherwise: str) -> None:
        """What was done, which is one entry in Django's log, or why nothing was."""
        if done:
            log.entry(request, self.model, said % {"name": name}, said % {"name": name}, name)
            self.message_user(request, said % {"name": name}, messages.SUCCESS)
        else:
            self.message_user(request, otherwise % {"name": name}, messages.WARNING)


def checked(text: str) -> str:
    """The name of a queue or schedule that a button sends. Raises PermissionDenied for what can be none."""
    try:
        return check_name(text)
    except InvalidError as error:  # no button of ours
        raise PermissionDenied from error
