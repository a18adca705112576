"""The pages of queues, schedules and workers where there are two hundred thousand jobs."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.tables import QUEUES, SCHEDULES, WORKERS, see
from tests.databases.test_plans import Plan, explained
from tinystore_django import Store
from tinystore_django.lifecycle.scheduling import open_all
from tinystore_django.timing.intervals import interval

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# Half of them wait, a tenth is scheduled, and the others have failed, run or were set aside for full groups.
FILL = """
    insert into tinystore_django_job
      (queue, key, value, "group", at, due, state, run, lease, started_at, ended_at, until, kept_until)
    select case when n % 20 = 0 then 'few' else 'many' end, 'chat:' || n, '"hello"', 'group:' || n % 50,
      case when n % 10 = 1 then 4000000000000000 + n else n end, n, state,
      1, case when state = 1 then 7 end, case when state = 1 then n end,
      case when state = 2 then n end, case when state = 2 then 4000000000000000 end,
      case when state = 2 then 4000000000000000 end
    from generate_series(1, 200000) n
    cross join lateral (select case n % 10 when 2 then 2 when 3 then 2 when 4 then 4 when 5 then 4
      else case when n % 10000 = 6 then 1 else 0 end end as state) of_job
    order by md5(n::text)
"""


@pytest.fixture
def many(shop: Store, transactional_db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL)
        cursor.execute("vacuum analyze tinystore_django_job")
    for name in ("few", "many"):
        shop.queue(name)
    shop.schedule("cleanup", every="1h")
    open_all("default", {"cleanup": interval("cleanup", 3_600_000)})


def test_no_page_reads_more_rows_than_it_counts_or_asks_many_questions(many: None, admin_client: Client) -> None:
    pages: dict[str, Any] = {}
    plans: dict[str, list[Plan]] = {}
    for page in (QUEUES, SCHEDULES, WORKERS):
        with CaptureQueriesContext(connection) as queries:
            pages[page] = see(admin_client, page)
        assert len(queries) < 30
        plans[page] = explained(partial(see, admin_client, page))

    states = ("Waiting", "Scheduled", "Running", "Failed")
    assert [pages[QUEUES].row("many")[state] for state in states] == ["10,000+", "10,000+", "20", "10,000+"]
    assert pages[QUEUES].row("few")["Running"] == "0"
    assert pages[SCHEDULES].row("cleanup")["options"] == "every 1h"
    for page, of_page in plans.items():
        said = [(plan.sql, plan.rows, plan.indexes) for plan in of_page]
        assert not any("tinystore_django_job" in plan.scanned for plan in of_page), said
        # Of one queue ten thousand in two states, twice as many failed, three times those set aside; of the other, all.
        assert sum(plan.rows for plan in of_page) < (81_000 if page == QUEUES else 300), said
