"""The task of tasks_db.py, in a module of its own: declaring one needs the settings."""

from __future__ import annotations

from django.tasks import task

from benchmarks.others.program import Handler

handler: Handler = print


@task
def run(value: float) -> None:
    handler(value)
