"""Rows that no job can have: each column of each table with whatever its type in the database takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import connection, models

from tests.byhand import NOON, us
from tests.settings import CHOSEN
from tinystore_django.models import Cancel, Group, Job, Lease, Minute, Progress, Queue, Step

DEEP = "[" * 3_000 + "]" * 3_000
NUMBERS: dict[str, list[Any]] = {
    "SmallIntegerField": [-(2**15), -1, 7, 2**15 - 1],
    "IntegerField": [-(2**31), -5, 2**31 - 2, 2**31 - 1],
    "BigIntegerField": [-(2**63), -1, 0, 9 * 10**18, 2**63 - 1],
}
TEXTS = [
    *("", "junk", "{", DEEP, "9" * 5_000, '"\\ud800"', "null", "[[1]]", "[[1,-1]]", '[["a",1]]', "[NaN]"),
    *('{"done":1e999,"total":1}', '{"done":' + DEEP + "}", "\x1b[31m", "@every 0s +0ms", "0 0 1 1 * Mars/Olympus"),
]
# SQLite takes text where a number belongs, and a number of any size where a small one does.
LOOSE = ["junk", 1.5, 1e300, 2**63 - 1] if CHOSEN == "sqlite" else []

RUNNING: dict[str, Any] = {"state": 1, "started_at": us(NOON), "lease": -7, "run": 1, "attempt": 1}
ENDED = {"ended_at": us(NOON), "until": us(NOON) + 10**12, "kept_until": us(NOON) + 10**12, "attempt": 1, "run": 1}
STATES: dict[str, dict[str, Any]] = {
    "ready": {},
    "running": RUNNING,
    "failed": {"state": 2, **ENDED},
    "done": {"state": 3, **ENDED},
    "aside": {"state": 4, "group": "tea"},
}
JOB = {"queue": "damaged", "value": "1", "at": us(NOON) - 1, "due": us(NOON) - 1}


def values(field: models.Field[Any, Any]) -> list[Any]:
    """What a column's type takes that its rows never have."""
    kind = field.get_internal_type()
    if kind == "BooleanField":
        return [True]
    given = [*NUMBERS[kind], *LOOSE] if kind in NUMBERS else TEXTS if kind == "TextField" else []
    return [*given, *([None] if field.null else [])]


def damages(model: type[models.Model], *left_out: str) -> Iterator[dict[str, Any]]:
    """Each column but these and the primary key, with each such value."""
    for field in model._meta.concrete_fields:
        if not field.primary_key and field.column not in left_out:
            for value in values(field):
                yield {field.column: value}


def insert(table: str, row: Mapping[str, Any]) -> None:
    names, places = ", ".join(f'"{name}"' for name in row), ", ".join("%s" for _ in row)
    with connection.cursor() as cursor:
        cursor.execute(f"insert into {table} ({names}) values ({places}) on conflict do nothing", list(row.values()))


def damage_jobs(queues: list[str], *left_out: str) -> None:
    """A job for each such value in each of these queues: of one state after the other, so that each column and each
    value meets each state in one of the queues."""
    for first, queue in enumerate(queues):
        for number, damage in enumerate(damages(Job, *left_out)):
            state = [*STATES][(first + number) % len(STATES)]
            key = f"{state} {next(iter(damage))} {number}"
            insert("tinystore_django_job", {**JOB, "queue": queue, "key": key, **STATES[state], **damage})


def damage_others(queue: str) -> None:
    """A row for each such value of each other table; those that hang on a job, of this queue's."""
    now = us(NOON)
    jobs = list(Job.objects.filter(queue=queue).values_list("pk", flat=True))
    rows: dict[type[models.Model], dict[str, Any]] = {
        Step: {"name": "step", "answer": "1"},
        Progress: {"run": 1, "progress": "1"},
        Cancel: {"until": now},
        Lease: {"name": "host:1", "queues": "damaged", "started_at": now, "renewed_at": now, "expires_at": now + 10**9},
        Queue: {"starts": "[]", "refill_at": 0},
        Group: {"queue": queue, "starts": "[]", "until": now + 10**9},
        Minute: {"queue": queue, "minute": now, "started": 1, "failed": 1, "longest_wait": 1},
    }
    for model, row in rows.items():
        for number, damage in enumerate(damages(model, "job")):
            more: dict[str, Any] = {}
            if model in (Step, Progress, Cancel):
                more = {"job": jobs[number % len(jobs)]}
            elif model is Queue:
                more = {"name": f"other {number}"}
            elif model is Group:
                more = {"group": f"group {number}"}
            elif model is Minute:
                more = {"minute": now - number % 50 * 60_000_000}
            insert(model._meta.db_table, {**row, **more, **damage})
