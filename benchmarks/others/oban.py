"""oban (oban-py), as its README, "Quickstart" and "Ready for Production" say.

Set up as `oban start` does, which these recommend: uvloop, orjson, and a pool of 1 to 10 connections, its default. A
handler is a function with `@job` ("Writing Jobs"). It calls a sync one in the event loop itself: never two at once.
Jobs are made by `new` and enqueued: `enqueue` of such a function wraps its arguments twice in 0.7.0.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import orjson
import uvloop
from oban import Oban, job, worker
from oban.schema import install
from psycopg.types.json import set_json_dumps, set_json_loads

from benchmarks.others import measuring, program

set_json_dumps(orjson.dumps)
set_json_loads(orjson.loads)

DAY = 86_400


class ObanProgram(program.Program):
    distribution = "oban"
    table = "oban_jobs"
    handler: program.Handler

    def install(self) -> None:
        self._run(lambda oban, pool: install(pool))

    def add(self, values: Iterable[float], *, atomic: bool = False) -> None:
        async def add(oban: Any, pool: Any) -> None:
            async with _transaction(pool) if atomic else contextlib.nullcontext() as connection:
                for value in values:
                    await oban.enqueue(run.new(value), conn=connection)

        self._run(add)

    def add_many(self, values: list[int]) -> None:
        self._run(lambda oban, pool: oban.enqueue_many([run.new(value) for value in values]))

    def add_later(self) -> None:
        self._run(lambda oban, pool: oban.enqueue(Later.new({}, scheduled_in=DAY)))

    def work(self, handler: program.Handler, concurrency: int, rate: program.Rate) -> None:
        ObanProgram.handler = staticmethod(handler)

        async def work(oban: Any, pool: Any) -> None:
            async with oban:
                await rate.await_end()

        self._run(work, queues={"default": concurrency})

    def _run(self, act: Callable[[Any, Any], Awaitable[Any]], **options: Any) -> None:
        async def main() -> None:
            pool = await Oban.create_pool(self.url)
            await act(Oban(pool=pool, **options), pool)

        uvloop.run(main())


@contextlib.asynccontextmanager
async def _transaction(pool: Any) -> AsyncIterator[Any]:
    async with pool.connection() as connection, connection.transaction():
        yield connection


@job(queue="default")
def run(value: float) -> Any:
    return ObanProgram.handler(value)


@worker(queue="default")
class Later:
    async def process(self, job: Any) -> None: ...


if __name__ == "__main__":
    measuring.main(ObanProgram)
