"""The check that is there where this app is imported and not installed, so that none of the others is."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

NAME = "tinystore_django"
TEXT = f"{NAME} is imported, and is not in INSTALLED_APPS: it has no tables, and no app's jobs.py is found"
HINT = f'add "{NAME}" to INSTALLED_APPS, then run manage.py migrate'

# Once the apps are ready, as where a view imports it, no check that is registered now would run any more.
if apps.ready and not apps.is_installed(NAME):
    raise ImproperlyConfigured(f"{TEXT}; {HINT}")


class OfThisApp:
    """What each model's Meta says, so that they can be imported where the app is not installed."""

    app_label = NAME


@register()
def check_installed(**kwargs: Any) -> list[CheckMessage]:
    """E005: the project imports this app without having it in INSTALLED_APPS."""
    return [] if apps.is_installed(NAME) else [Error(TEXT, HINT, id="tinystore.E005")]
