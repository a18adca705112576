"""What an operator types."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ..databases import database
from ..errors import InvalidError
from ..timing.durations import duration
from ..timing.moments import instant, later


class MoveForm(forms.Form):
    """The time that jobs are moved to: a time in the current zone, or a span from now by the database's clock."""

    time = forms.CharField(
        label=gettext_lazy("Time"),
        max_length=100,
        widget=forms.TextInput(attrs={"class": "vTextField tinystore-time", "autocomplete": "off"}),
    )

    def __init__(self, data: object, alias: str) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.alias = alias
        zone = timezone.get_current_timezone_name()
        help_text = _("A time in %(zone)s, such as 2026-03-01 14:00, or a span from now, such as 1h30m.")
        self.fields["time"].help_text = help_text % {"zone": zone}

    def clean_time(self) -> int:
        """The time in microseconds since 1970."""
        text = self.cleaned_data["time"]
        span = _span(text)
        try:
            if span is not None:
                return later(database(self.alias).now(), span, "time")
            return instant(forms.DateTimeField().clean(text), "time")
        except InvalidError as error:
            raise ValidationError(_("Give a time within the years 1 to 9999.")) from error


def _span(text: str) -> int | None:
    try:
        return duration(text, "time")
    except InvalidError:
        return None
