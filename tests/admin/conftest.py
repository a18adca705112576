from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.byhand import Hand
from tinystore_django import Queue, Store, models
from tinystore_django.testing import Clock

JOBS = "/admin/tinystore_django/job/"
Pages = Callable[..., "Page"]
Staff = Callable[..., Client]


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
        """A line of a job's own page."""
        found = re.search(rf'<tr class="field-{name}">.*?<td>(.*?)</td></tr>', self.html, re.DOTALL)
        assert found is not None, self.html
        return text(found[1])

    @property
    def note(self) -> str:
        """What a page says of an address that means nothing."""
        found = re.search(r'<p class="(?:errornote|tinystore-gone)">(.*?)</p>', self.html, re.DOTALL)
        return " ".join(text(found[1]).split()) if found else ""

    @property
    def messages(self) -> list[str]:
        return [text(one) for one in re.findall(r'<li class="(?:success|warning|error)">(.*?)</li>', self.html)]

    @property
    def buttons(self) -> list[str]:
        """What can be done on a job's page."""
        return re.findall(r'name="verb" value="(\w+)"', self.html)


def text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).replace("\xa0", " ").strip()


@pytest.fixture
def emails(shop: Store, clock: Clock) -> Queue[Any]:
    """A queue whose done jobs stay for a day."""
    return shop.queue("emails", attempts=3, keep="2d", keep_done="1d")


@pytest.fixture
def five(emails: Queue[Any], hand: Hand) -> dict[str, models.Job]:
    """A job in each state, named after it."""
    for state in ("done", "failed", "running"):
        emails.add(state, id=state)
        held = hand.take_one(emails)
        if state == "failed":
            hand.end(held, "failed", "first line\nsecond")
        elif state == "done":
            hand.end(held)
    emails.add("waiting", id="waiting", group="tea")
    emails.add("scheduled", id="scheduled", delay="1h")
    return {str(job.key): job for job in models.Job.objects.order_by("pk")}


@pytest.fixture
def staff(db: None, client: Client) -> Staff:
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


@pytest.fixture
def press(admin_client: Client) -> Pages:
    """Presses a button of a job's page, as a superuser."""
    return lambda verb, job, **more: pressed(admin_client, verb, job, **more)


def chosen(client: Client, action: str, *jobs: models.Job, **more: str) -> Page:
    selected = [str(job.pk) for job in jobs]
    return Page(client.post(JOBS, {"action": action, "_selected_action": selected, **more}, follow=True))


def chosen_all(client: Client, action: str, query: str = "", **more: str) -> Page:
    """Does an action to all that the filters of a list match; one of its jobs is ticked, as a browser would."""
    ticked = [str(models.Job.objects.values_list("pk", flat=True)[0])]
    data = {"action": action, "select_across": "1", "_selected_action": ticked, **more}
    return Page(client.post(f"{JOBS}{query}", data, follow=True))


def pressed(client: Client, verb: str, job: models.Job, **more: str) -> Page:
    return Page(client.post(f"{JOBS}{job.pk}/operate/", {"verb": verb, **more}, follow=True))
