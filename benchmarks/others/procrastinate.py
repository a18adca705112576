"""procrastinate in a Django project, as its "Use Procrastinate in a Django application" says.

Jobs are deferred on Django's connection, many by "Batch defer". The worker is that of `manage.py procrastinate worker
--concurrency 10`, with the connector that it makes itself ("Running custom Django scripts"). Finished jobs stay, its
default ("Delete finished jobs").
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from benchmarks.others import measuring, program, projects


class Procrastinate(program.Program):
    distribution = "procrastinate"
    table = "procrastinate_jobs"

    def __init__(self, url: str, variant: str) -> None:
        super().__init__(url, variant)
        projects.configure(url, ["procrastinate.contrib.django"])
        from procrastinate.contrib.django import app

        self.app: Any = app
        self.handler: program.Handler = print
        self.app.task(self._run, name="run")
        self.app.task(self._arun, name="arun")

    def install(self) -> None:
        projects.migrate()

    @property
    def task(self) -> Any:
        return self.app.tasks["arun" if self.is_async else "run"]

    def add(self, values: Iterable[float], *, atomic: bool = False) -> None:
        if atomic:
            with transaction.atomic():
                self.add(values)
            return
        for value in values:
            self.task.defer(value=value)

    def add_many(self, values: list[int]) -> None:
        self.task.batch_defer(*({"value": value} for value in values))

    def add_later(self) -> None:
        self.task.configure(schedule_in={"days": 1}).defer(value=0)

    def work(self, handler: program.Handler, concurrency: int, rate: program.Rate) -> None:
        self.handler = handler
        asyncio.run(self._work(concurrency, rate))

    async def _work(self, concurrency: int, rate: program.Rate) -> None:
        with self.app.replace_connector(self.app.connector.get_worker_connector()) as app:
            async with app.open_async():
                working = asyncio.create_task(app.run_worker_async(concurrency=concurrency))
                await rate.await_end()
                working.cancel()

    def _run(self, value: float) -> None:
        self.handler(value)

    async def _arun(self, value: float) -> None:
        await self.handler(value)


if __name__ == "__main__":
    measuring.main(Procrastinate)
