"""Our own pages as an operator sees them: their tables, their buttons and what they say."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.admin.conftest import text

HOME = "/admin/tinystore_django"
QUEUES, SCHEDULES, WORKERS = f"{HOME}/queue/", f"{HOME}/schedule/", f"{HOME}/lease/"


class Table:
    """A page with a table: its rows by their names, and the cells of each by their labels."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.html: str = response.content.decode()
        self.rows = [_cells(row) for row in re.findall(r"<tr[ >].*?</tr>", _body(self.html), re.DOTALL)]

    @property
    def names(self) -> list[str]:
        return [row["name"] for row in self.rows]

    def row(self, name: str) -> dict[str, str]:
        (found,) = [row for row in self.rows if row["name"] == name]
        return found

    @property
    def buttons(self) -> list[tuple[str, str]]:
        return re.findall(r'<button [^>]*name="(\w+)" value="([^"]*)"', self.html)

    @property
    def note(self) -> str:
        """What the page says of an address that means nothing."""
        found = re.search(r'<p class="(?:errornote|tinystore-gone)">(.*?)</p>', self.html, re.DOTALL)
        return " ".join(text(found[1]).split()) if found else ""

    @property
    def messages(self) -> list[str]:
        return [text(one) for one in re.findall(r'<li class="(?:success|warning|error)">(.*?)</li>', self.html)]


def see(client: Client, page: str, **query: str) -> Table:
    return Table(client.get(page, query))


def press(client: Client, page: str, button: str, name: str) -> Table:
    """Presses a button of a page, and reads what is shown then."""
    return Table(client.post(page, {button: name}, follow=True))


def staff(*permissions: str) -> Client:
    """Somebody of the staff with these permissions."""
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def _body(page: str) -> str:
    found = re.search(r'<table class="tinystore-table">.*?<tbody>(.*)</tbody>', page, re.DOTALL)
    return found[1] if found else ""


def _cells(row: str) -> dict[str, str]:
    cells = {
        text(label): text(cell)
        for label, cell in re.findall(r'<td[^>]*data-label="([^"]*)"[^>]*>(.*?)</td>', row, re.DOTALL)
    }
    spans = {
        kind: re.findall(rf'<span class="tinystore-{kind}">(.*?)</span>(?=\s*(?:<|$))', row, re.DOTALL)
        for kind in ("badge", "warning")
    }
    options = re.search(r'<span class="tinystore-options">(.*?)</span>\s*</th>', row, re.DOTALL)
    return {
        "name": text(re.findall(r'class="tinystore-name">(.*?)</bdi>', row, re.DOTALL)[0]),
        "paused": " ".join(map(text, spans["badge"])),
        "notes": " ".join(map(text, spans["warning"])),
        "options": " ".join(text(options[1]).split()) if options else "",
        **cells,
    }
