"""The page of workers: each process, what it runs, and when it was last heard of."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.admin.tables import WORKERS, see, staff
from tests.byhand import LEASE
from tinystore_django import Queue
from tinystore_django.lifecycle import leasing
from tinystore_django.lifecycle.claiming import claim
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


def take(name: str, *queues: str, **about: Any) -> int:
    return leasing.take("default", name, queues, LEASE, **about)


def test_a_worker_is_shown_with_all_that_its_lease_says(emails: Queue[Any], clock: Clock, admin_client: Client) -> None:
    lease = take("web-1.example:4711", "parcels", "emails", version="0.1.0", woken="by LISTEN/NOTIFY and every 1s")
    clock.advance("20s")
    leasing.renew("default", lease, LEASE)
    emails.add_many(range(3))
    claim("default", lease, {"emails": 2})
    clock.advance("7s")

    row = see(admin_client, WORKERS).row("web-1.example")

    assert (row["Process"], row["Version"], row["Queues"]) == ("4711", "0.1.0", "emails, parcels")
    assert (row["Runs now"], row["Last renewal"], row["Woken"]) == ("2", "7 s ago", "by LISTEN/NOTIFY and every 1s")
    assert row["Started"] == "March 1, 2026, noon 27 s ago"
    assert row["notes"] == ""


def test_workers_stand_in_the_order_of_their_hosts_and_processes(clock: Clock, admin_client: Client) -> None:
    for name in ("b:1", "a:100", "a:20"):
        take(name, "emails")

    assert [(row["name"], row["Process"]) for row in see(admin_client, WORKERS).rows] == [
        ("a", "20"),
        ("a", "100"),
        ("b", "1"),
    ]


def test_a_worker_whose_lease_has_run_out_is_said_to_be_lost(clock: Clock, admin_client: Client) -> None:
    take("host:1", "emails")
    clock.advance("30s")

    assert see(admin_client, WORKERS).row("host")["notes"].startswith("Its lease has run out")


def test_a_lease_of_run_due_is_woken_by_nothing(clock: Clock, admin_client: Client) -> None:
    take("host:1", "emails")

    assert see(admin_client, WORKERS).row("host")["Woken"] == "not at all: run_due runs what is due"


def test_where_no_worker_runs_the_page_says_how_to_start_one(clock: Clock, admin_client: Client) -> None:
    page = see(admin_client, WORKERS)

    assert page.rows == []
    assert "tinystore_work" in page.html


def test_a_workers_name_is_shown_as_text(clock: Clock, admin_client: Client) -> None:
    take("<b>host</b>:1", "<i>q</i>", version="<u>", woken="<s>")

    page = see(admin_client, WORKERS)

    assert page.names == ["<b>host</b>"]
    for evil in ("<b>host", "<i>q", "<u>", "<s>"):
        assert evil not in page.html


def test_workers_are_seen_by_who_may_view_them_and_changed_by_nobody(clock: Clock, admin_client: Client) -> None:
    take("host:1", "emails")

    assert see(staff("view_lease"), WORKERS).names == ["host"]
    assert admin_client.post(WORKERS, {"pause": "emails"}).status_code == 403
    assert see(admin_client, WORKERS).buttons == []


def test_others_do_not_see_workers(clock: Clock) -> None:
    assert staff("view_job", "pause_queue").get(WORKERS).status_code == 403
