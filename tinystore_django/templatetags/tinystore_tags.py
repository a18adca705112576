"""{% load tinystore_tags %}: the tags of this package's own style sheets and scripts, with the request's nonce."""

from __future__ import annotations

from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def own_style(context: template.Context, name: str) -> str:
    """Return the tag of one of this package's style sheets."""
    return format_html('<link rel="stylesheet" href="{}"{}>', static(f"tinystore_django/{name}"), nonce(context))


@register.simple_tag(takes_context=True)
def own_script(context: template.Context, name: str) -> str:
    """Return the tag of one of this package's scripts, which runs once the page is read."""
    return format_html('<script src="{}" defer{}></script>', static(f"tinystore_django/{name}"), nonce(context))


def nonce(context: template.Context) -> SafeString:
    """Return the attribute that a Content-Security-Policy asks for, or nothing where no nonce was made."""
    found = next((one for one in _nonces(context) if one is not None), None)
    return SafeString() if found is None else format_html(' nonce="{}"', str(found))


def _nonces(context: template.Context) -> tuple[Any, ...]:
    """Django's own, by its context processor or its middleware, and django-csp's. Each is made as it is read, and is
    false before."""
    request = context.get("request")
    return context.get("csp_nonce"), getattr(request, "csp_nonce", None), getattr(request, "_csp_nonce", None)
