"""A list that was narrowed down is as narrow behind what was done to its jobs, as in the rest of the admin."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client

from tests.admin.conftest import JOBS, Page
from tinystore_django import models

pytestmark = pytest.mark.django_db
Five = dict[str, models.Job]

NARROWED = "?state=scheduled&queue=emails&q=s"
KEPT = urlencode({"_changelist_filters": NARROWED.removeprefix("?")})


def links(page: Page, path: str) -> list[str]:
    """The queries of a page's links and forms that lead to a path; those of the side bar have none."""
    found = re.findall(rf'(?:href|action)="{path}(\?[^"]*)"', page.html)
    return [html.unescape(one) for one in found]


def same(one: str, other: str) -> bool:
    return parse_qs(urlsplit(one).query) == parse_qs(urlsplit(other).query)


def test_a_jobs_page_leads_back_to_the_list_as_it_was(five: Five, admin_client: Client) -> None:
    page = f"{JOBS}{five['scheduled'].pk}"
    opened, *_ = links(Page(admin_client.get(f"{JOBS}{NARROWED}")), f"{page}/change/")

    shown = Page(admin_client.get(f"{page}/change/{opened}"))

    assert same(opened, f"?{KEPT}")
    assert [same(query, NARROWED) for query in links(shown, JOBS)] == [True]
    assert set(links(shown, f"{page}/operate/")) == {f"?{KEPT}"}


def test_a_button_leads_back_to_the_job_and_from_there_to_the_list(five: Five, admin_client: Client) -> None:
    page = f"{JOBS}{five['scheduled'].pk}"

    response = admin_client.post(f"{page}/operate/?{KEPT}", {"verb": "run_now"})

    assert response["Location"] == f"{page}/change/?{KEPT}"


def test_a_job_that_is_gone_leads_back_to_the_list(five: Five, admin_client: Client) -> None:
    operate = f"{JOBS}{five['scheduled'].pk}/operate/?{KEPT}"
    asked = Page(admin_client.post(operate, {"verb": "cancel"}))

    gone = admin_client.post(operate, {"verb": "cancel", "sure": "yes"})
    again = admin_client.post(operate, {"verb": "cancel", "sure": "yes"})

    assert links(asked, f"{JOBS}{five['scheduled'].pk}/operate/") == [f"?{KEPT}"]
    for response in (gone, again):
        assert urlsplit(response["Location"]).path == JOBS
        assert same(response["Location"], NARROWED)


def test_an_action_of_the_list_leads_back_to_it_with_and_without_an_answer(five: Five, admin_client: Client) -> None:
    data = {"action": "move_time", "_selected_action": [str(five["scheduled"].pk)]}

    asked = Page(admin_client.post(f"{JOBS}{NARROWED}", data))
    done = admin_client.post(f"{JOBS}{NARROWED}", {**data, "time": "2h"})

    assert [same(query, NARROWED) for query in links(asked, JOBS)] == [True, True]
    assert done["Location"] == f"{JOBS}{NARROWED}"
