"""How long the admin's pages take in a table of a million jobs, and how many queries they make.

    python -m benchmarks.admin [--jobs 10000000] [--db sqlite]

The server's time of each page, by Django's own test client; a page is to take under 300 ms and 30 queries. The
baseline is the admin's front page, in the same run.
"""

from __future__ import annotations

import statistics
import time

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks import bench

QUEUES = 12
# Three in ten are failed, three done, one scheduled, the rest waiting; a thousand run. Added in no order.
FILL = """
    insert into tinystore_django_job
      (queue, key, "group", value, state, at, due, attempt, run, lease, started_at, ended_at, until, kept_until, error)
    select 'queue-' || n %% {queues}, 'job:' || n, case when n %% 3 = 0 then 'group:' || n %% 1000 end,
      '{{"to": "somebody@example.com", "number": ' || n || '}}', state,
      {now} + case when n %% 10 = 7 then n else -n end, {now} - n, 1, 1, case when state = 1 then 1 end,
      case when state = 1 then {now} end, case when ended then {now} - n end, case when ended then {later} + n end,
      case when ended then {later} + n end, case when state = 2 then 'no server answered' end
    from (select n, case when n <= 1000 then 1 when n %% 10 < 3 then 2 when n %% 10 < 6 then 3 else 0 end as state,
      n > 1000 and n %% 10 < 6 as ended from {numbers}) numbered order by n * 79 %% 10007
"""
NUMBERS = {
    "postgresql": "generate_series(1, %s) n",
    "sqlite": "(with recursive counted(n) as (select 1 union all select n + 1 from counted where n < %s) "
    "select n from counted)",
}
LIST = "/admin/tinystore_django/job/"
OVERVIEWS = {
    "queues": "/admin/tinystore_django/queue/",
    "schedules": "/admin/tinystore_django/schedule/",
    "workers": "/admin/tinystore_django/lease/",
}
MOST_MILLISECONDS, MOST_QUERIES = 300, 30
TIMES = 7


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1_000_000)
    given = parser.parse_args()
    with bench.project(given.db, **bench.ADMIN):
        fill(given.jobs)
        client = logged_in()
        baseline = _show("the admin's front page", client, "/admin/", None)
        for what, url in {**OVERVIEWS, **pages(given.jobs)}.items():
            _show(what, client, url, baseline)


def fill(jobs: int) -> None:
    """A table of so many jobs in every state, and as a server that has run for a while has it: analysed."""
    now = time.time_ns() // 1000
    numbers = NUMBERS[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(queues=QUEUES, now=now, later=now + 86_400_000_000, numbers=numbers), [jobs])
        cursor.execute("analyze" if connection.vendor == "sqlite" else "vacuum analyze")


def logged_in() -> Client:
    from django.contrib.auth.models import User

    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    return client


def pages(jobs: int) -> dict[str, str]:
    """What is looked at, by what it is."""
    from tinystore_django.models import Job

    states = {
        f"jobs, {state}": f"{LIST}?state={state}" for state in ("running", "failed", "waiting", "scheduled", "done")
    }
    return {
        "jobs": LIST,
        "jobs, the last page": f"{LIST}?p=200",
        **states,
        "jobs, done, the last page": f"{LIST}?state=done&p=200",
        "jobs of a queue": f"{LIST}?queue=queue-7",
        "jobs of a queue, failed": f"{LIST}?queue=queue-7&state=failed",
        "jobs of a queue there is not": f"{LIST}?queue=nothing",
        "jobs of a group": f"{LIST}?group=group:333",
        "jobs of a group, failed": f"{LIST}?group=group:333&state=failed",
        "jobs of a group there is not": f"{LIST}?group=nothing",
        "jobs by the beginning of an id": f"{LIST}?q=job:77",
        "jobs by the beginning of every id": f"{LIST}?q=job:",
        "jobs by an id": f"{LIST}?q=job:{jobs}",
        "jobs by an id there is not": f"{LIST}?q=nothing",
        "jobs by an id, failed": f"{LIST}?q=job:77&state=failed",
        "jobs by every id, running": f"{LIST}?q=job:&state=running",
        "a failed job": f"{LIST}{Job.objects.filter(state=Job.State.FAILED)[:1].get().pk}/change/",
        "a job there is not": f"{LIST}{10 * jobs}/change/",
    }


def _show(what: str, client: Client, url: str, baseline: float | None) -> float:
    client.get(url, follow=True)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url, follow=True).status_code == 200, url
        count = len(queries)
    times = [_took(client, url) for _ in range(TIMES)]
    took = statistics.median(times)
    ratio = "" if baseline is None else f"   {took / baseline:6.1f} times the baseline"
    over = "   OVER" if max(times) > MOST_MILLISECONDS or count >= MOST_QUERIES else ""
    print(f"{what:36} {count:3} queries {took:8.1f} ms, at most {max(times):8.1f}{ratio}{over}", flush=True)
    return took


def _took(client: Client, url: str) -> float:
    began = time.perf_counter()
    client.get(url, follow=True)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
