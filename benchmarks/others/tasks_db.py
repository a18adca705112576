"""django-tasks-db, the database backend of django-tasks, as its README says: `TASKS` in the settings, and `db_worker`.

Its worker runs one task at a time. It has no call for many: its model's `bulk_create` fills the table here, untimed.
Variant "kept": with a CONN_MAX_AGE. Its worker closes connections between two tasks as Django does between requests, so
that without one it connects for each task.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.others import measuring, program, projects

QUEUE = "default"


class TasksDB(program.Program):
    distribution = "django-tasks-db"
    table = "django_tasks_database_dbtaskresult"
    new = {"id": "gen_random_uuid()"}
    has_bulk = False
    has_async = False

    def __init__(self, url: str, variant: str) -> None:
        super().__init__(url, variant)
        backend = {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": [QUEUE]}
        projects.configure(url, ["django_tasks_db"], kept=variant == "kept", TASKS={"default": backend})
        from benchmarks.others import tasks_db_task

        self.task = tasks_db_task

    def install(self) -> None:
        projects.migrate()

    def add(self, values: Iterable[float], *, atomic: bool = False) -> None:
        if atomic:
            with transaction.atomic():
                self.add(values)
            return
        for value in values:
            self.task.run.enqueue(value)

    def add_many(self, values: list[int]) -> None:
        from django_tasks_db.models import DBTaskResult

        one = DBTaskResult.objects.get(id=self.task.run.enqueue(values[0]).id)
        names = {field.name for field in one._meta.fields} - {"id", "args_kwargs"}
        like = {name: getattr(one, name) for name in names}
        rest = [DBTaskResult(**like, args_kwargs={"args": [value], "kwargs": {}}) for value in values[1:]]
        DBTaskResult.objects.bulk_create(rest)

    def add_later(self) -> None:
        self.task.run.using(run_after=timezone.now() + timedelta(days=1)).enqueue(0)

    def work(self, handler: program.Handler, concurrency: int, rate: program.Rate) -> None:
        self.task.handler = handler
        threading.Thread(target=_work, daemon=True).start()
        rate.wait()


def _work() -> None:
    from django_tasks_db.management.commands.db_worker import Worker

    options: dict[str, Any] = {"queue_names": [QUEUE], "excluded_queue_names": [], "backend_name": "default"}
    Worker(interval=1, batch=False, startup_delay=False, max_tasks=None, worker_id="benchmark", **options).run()


if __name__ == "__main__":
    measuring.main(TasksDB)
