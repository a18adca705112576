"""Every tag of ours has the nonce of a Content-Security-Policy, Django's own or django-csp's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.template import Context, Template
from django.test import Client, override_settings
from django.utils.functional import SimpleLazyObject

from tests.settings import MIDDLEWARE
from tinystore_django import Queue
from tinystore_django.models import Job

pytestmark = pytest.mark.django_db
HOME = "/admin/tinystore_django"
OURS = re.compile(r'<(?:link|script)[^>]*tinystore_django/[^"]*"[^>]*>')


class Lazy(SimpleLazyObject):
    """As Django's and django-csp's: false until it is read."""

    def __bool__(self) -> bool:
        return False


def django_csp(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: Any) -> HttpResponse:
        request.csp_nonce = Lazy(lambda: 'a"b')
        return get_response(request)

    return middleware


def django_itself(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: Any) -> HttpResponse:
        request._csp_nonce = Lazy(lambda: 'a"b')
        return get_response(request)

    return middleware


@pytest.mark.parametrize("middleware", ["django_csp", "django_itself"])
def test_every_page_gives_its_tags_the_nonce(middleware: str, emails: Queue[Any], admin_client: Client) -> None:
    emails.add(None, id="a")
    job = Job.objects.get().pk
    pages = {
        "job/": 2, "queue/": 3, "schedule/": 3, "lease/": 3,
        f"job/{job}/change/": 2, f"job/{job}/history/": 1,
    }  # fmt: skip

    with override_settings(MIDDLEWARE=[*MIDDLEWARE, f"{__name__}.{middleware}"]):
        for page, count in pages.items():
            tags = OURS.findall(admin_client.get(f"{HOME}/{page}").content.decode())
            assert [' nonce="a&quot;b"' in tag for tag in tags] == [True] * count, (page, tags)
        asked = admin_client.post(f"{HOME}/job/{job}/operate/", {"verb": "cancel"}).content.decode()
        assert [' nonce="a&quot;b"' in tag for tag in OURS.findall(asked)] == [True]


def test_without_a_policy_there_is_none(admin_client: Client) -> None:
    assert "nonce" not in admin_client.get(f"{HOME}/queue/").content.decode()


@pytest.mark.parametrize("name", ["csp_nonce", "request"])
def test_a_live_job_has_it_as_well(name: str) -> None:
    request = HttpRequest()
    request.csp_nonce = "abc"  # type: ignore[attr-defined]
    given = {"csp_nonce": "abc", "request": request}[name]

    page = Template("{% load tinystore %}{% live_job '/events/' %}").render(Context({name: given}))

    assert re.search(r'<script src="[^"]*live_job.js" defer nonce="abc">', page)
