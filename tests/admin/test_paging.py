"""Pages of jobs: in the order of their lanes, capped, and never by a look at a whole table."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import Pages
from tests.byhand import Hand
from tinystore_django import Queue, Store
from tinystore_django.admin import paging
from tinystore_django.admin.jobs import JobAdmin
from tinystore_django.databases.names import queues
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db
UNBOUNDED = re.compile(r"count\((?!.*\blimit \d)", re.IGNORECASE | re.DOTALL)


@pytest.mark.parametrize("query", [{}, {"state": "waiting"}, {"q": "a"}, {"group": "g"}, {"_facets": "True"}])
def test_every_count_of_jobs_has_a_limit(query: dict[str, str], emails: Queue[Any], listed: Pages) -> None:
    emails.add(None, id="a", group="g")

    with CaptureQueriesContext(connection) as queries:
        assert listed(**query).status == 200

    ours = [one["sql"] for one in queries if "tinystore_django_job" in one["sql"]]
    assert any("count(" in sql.lower() for sql in ours)
    assert [sql for sql in ours if UNBOUNDED.search(sql) or "DISTINCT" in sql] == []


def test_more_jobs_than_are_counted_are_told_as_so_many_and_more(
    emails: Queue[Any], listed: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST", 1_000)
    emails.add_many([None] * 1_000)
    assert "\n1,000 jobs\n" in listed().html

    emails.add(None)
    page = listed().html
    assert "\n1,000+ jobs\n" in page
    assert "Select all 1,000+ jobs" in page
    assert len(listed(p=20).column("state_now")) == 50
    assert listed(p=21).html.count('class="this-page"') == listed(p=20).html.count('class="this-page"')


def test_pages_go_on_from_one_state_to_the_next(
    shop: Store, emails: Queue[Any], hand: Hand, clock: Clock, listed: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JobAdmin, "list_per_page", 4)
    queue = shop.queue("parcels")
    expected = _arrange([emails, queue], hand, clock)

    pages = [listed(p=number).column("named") for number in range(1, 5)]

    assert [name for page in pages for name in page] == expected
    assert [len(page) for page in pages] == [4, 4, 4, 2]


def _arrange(both: list[Queue[Any]], hand: Hand, clock: Clock) -> list[str]:
    """Jobs in every state in two queues, a second apart; their ids in the order of the list."""
    for name in ("f1", "f2", "f3", "f4", "r1", "r2"):
        queue = both[int(name[1]) % 2]
        queue.add(None, id=name)
        held = hand.take_one(queue)
        clock.advance("1s")
        if name.startswith("f"):
            hand.end(held, "failed", "no luck")
    for number in range(1, 5):
        both[number % 2].add(None, id=f"w{number}", delay=f"{number}s")
        both[number % 2].add(None, id=f"s{number}", delay=f"{number}h")
    clock.advance("1m")
    return ["r1", "r2", "f4", "f3", "f2", "f1", "w1", "w2", "w3", "w4", "s1", "s2", "s3", "s4"]


def test_a_search_is_in_the_order_of_ids_within_a_state(emails: Queue[Any], listed: Pages) -> None:
    for name in ("x3", "x1", "x2"):
        emails.add(None, id=name)

    assert listed(q="x").column("named") == ["x1", "x2", "x3"]


def test_the_names_of_queues_are_those_with_jobs_in_any_state(shop: Store, hand: Hand, clock: Clock, db: None) -> None:
    assert queues("default") == []
    kinds = {"done": "done", "failed": "failed", "running": None, "waiting": None}
    for name, kind in kinds.items():
        queue = shop.queue(name, keep_done="1d")
        queue.add(None)
        if name != "waiting":
            held = hand.take_one(queue)
            if kind:
                hand.end(held, kind)  # type: ignore[arg-type]
    shop.queue("empty")

    assert queues("default") == sorted(kinds)


@pytest.mark.parametrize("query", [{}, {"state": "failed"}, {"q": "a"}, {"group": "g", "queue": "emails"}])
def test_a_list_makes_few_queries(
    query: dict[str, str], shop: Store, emails: Queue[Any], listed: Pages, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        shop.queue(f"queue-{number}").add(None, id=f"a{number}", group="g")
    listed(**query)

    with django_assert_max_num_queries(16):
        listed(**query)
