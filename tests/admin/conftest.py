from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tinystore_django import Queue, Store, models
from tinystore_django.testing import Clock

JOBS = "/admin/tinystore_django/job/"
Pages = Callable[..., "Page"]


class Page:
    """What an operator sees of an answer."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.html: str = response.content.decode()

    def column(self, name: str) -> list[str]:
        """The cells of a column of the list, from top to bottom."""
        cells = re.findall(rf'<t[dh] class="field-{name}[^"]*">(.*?)</t[dh]>', self.html, re.DOTALL)
        return [text(cell) for cell in cells]

    def field(self, name: str) -> str:
        """A field of a job's own page."""
        found = re.search(rf'field-{name}".*?<div class="readonly">(.*?)</div>', self.html, re.DOTALL)
        assert found is not None, self.html
        return text(found[1])

    @property
    def messages(self) -> list[str]:
        return [text(one) for one in re.findall(r'<li class="(?:success|warning|error)">(.*?)</li>', self.html)]


def text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue whose done jobs stay for a day."""
    return shop.queue("emails", attempts=3, keep="2d", keep_done="1d")


@pytest.fixture
def staff(db: None, client: Client) -> Callable[..., Client]:
    """Logs in somebody of the staff who has these permissions on jobs."""

    def log_in(*permissions: str) -> Client:
        user = User.objects.create_user("staff", is_staff=True)
        codenames = [f"{name}_job" for name in permissions]
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(user)
        return client

    return log_in


@pytest.fixture
def listed(admin_client: Client) -> Pages:
    """The list of jobs as a superuser sees it."""
    return lambda **query: Page(admin_client.get(JOBS, query))


@pytest.fixture
def opened(admin_client: Client) -> Pages:
    """A job's page as a superuser sees it."""
    return lambda job: Page(admin_client.get(f"{JOBS}{job.pk}/change/"))


@pytest.fixture
def act(admin_client: Client) -> Pages:
    """Does an action to jobs, as a superuser."""
    return lambda action, *jobs, **more: chosen(admin_client, action, *jobs, **more)


def chosen(client: Client, action: str, *jobs: models.Job, **more: str) -> Page:
    selected = [str(job.pk) for job in jobs]
    return Page(client.post(JOBS, {"action": action, "_selected_action": selected, **more}, follow=True))
