"""pgqueuer, as its README, "Drivers" and "Performance Tuning" say.

asyncpg, the driver of the README; uvloop, as `pgq run` has; a single connection for the worker and `pgq autovac` after
the installation ("Performance Tuning", its checklist); durable tables, its default. Sync code runs by
`asyncio.to_thread`: it takes no sync handlers, and its error says so. `max_concurrent_tasks` has to be twice the batch
("Performance Tuning", "Batch Size"): a concurrency of 10 is a batch of 5. Variant "twice": a batch of 10, its default,
and up to 20 at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.others import measuring, program


class Pgqueuer(program.Program):
    distribution = "pgqueuer"
    table = "pgqueuer"

    def install(self) -> None:
        uvloop.run(self._install())

    async def _install(self) -> None:
        queries = Queries(AsyncpgDriver(await asyncpg.connect(self.url)))
        await queries.install()
        await queries.optimize_autovacuum()

    def add(self, values: Iterable[float], *, atomic: bool = False) -> None:
        uvloop.run(self._add(values, atomic))

    async def _add(self, values: Iterable[float], atomic: bool) -> None:
        connection = await asyncpg.connect(self.url)
        queries = Queries(AsyncpgDriver(connection))
        async with connection.transaction() if atomic else contextlib.nullcontext():
            for value in values:
                await queries.enqueue("default", str(value).encode())

    def add_many(self, values: list[int]) -> None:
        uvloop.run(self._add_many(values))

    async def _add_many(self, values: list[int], after: timedelta | None = None) -> None:
        queries = Queries(AsyncpgDriver(await asyncpg.connect(self.url)))
        many = len(values)
        payloads: list[bytes | None] = [str(value).encode() for value in values]
        await queries.enqueue(["default"] * many, payloads, [0] * many, [after] * many)

    def add_later(self) -> None:
        uvloop.run(self._add_many([0], timedelta(days=1)))

    def work(self, handler: program.Handler, concurrency: int, rate: program.Rate) -> None:
        uvloop.run(self._work(handler, concurrency, rate))

    async def _work(self, handler: program.Handler, concurrency: int, rate: program.Rate) -> None:
        pgq = PgQueuer(AsyncpgDriver(await asyncpg.connect(self.url)))
        pgq.entrypoint("default")(_entrypoint(handler))
        most = 2 * concurrency if self.variant == "twice" else concurrency
        working = asyncio.create_task(pgq.run(batch_size=most // 2, max_concurrent_tasks=most))
        await rate.await_end()
        working.cancel()


def _entrypoint(handler: program.Handler) -> Any:
    is_async = inspect.iscoroutinefunction(handler)

    async def run(job: Job) -> None:
        value = float(job.payload or b"0")
        await (handler(value) if is_async else asyncio.to_thread(handler, value))

    return run


if __name__ == "__main__":
    measuring.main(Pgqueuer)
