"""Adds jobs one at a time, beside a bare insert of the same rows into a plain table by the driver alone.

python -m benchmarks.add [--db sqlite] [--prepared] [--jobs 1000] [--rounds 9]
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db import connection, connections, transaction

from benchmarks import bench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tinystore_django import Queue

# No index but the primary key's.
PLAIN = """
    create table plain (id {id}, queue text, "key" text, value text, "group" text, "repeat" text, at bigint, due bigint)
"""
ID = {
    "postgresql": "bigint generated always as identity primary key",
    "sqlite": "integer primary key autoincrement",
}
INSERT = """
    insert into plain (queue, "key", value, "group", "repeat", at, due) values ({0}, {0}, {0}, {0}, {0}, {0}, {0})
"""
PLACE = {"postgresql": "%s", "sqlite": "?"}

PREPARED = {"server_side_binding": True, "prepare_threshold": 5}

Values = list[dict[str, Any]]
Block = Callable[[], AbstractContextManager[Any]]


def main() -> None:
    parser = bench.arguments(__doc__ or "")
    parser.set_defaults(jobs=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--prepared", action="store_true", help="let Django have PostgreSQL keep plans")
    chosen = parser.parse_args()
    values = [{"to": f"user{n}@example.com", "subject": "Welcome", "number": n} for n in range(chosen.jobs)]
    with bench.project(chosen.db), bench.raw() as driver:
        if chosen.prepared:
            connection.close()
            connection.settings_dict["OPTIONS"] = PREPARED
        with connection.cursor() as cursor:
            cursor.execute(PLAIN.format(id=ID[chosen.db]))
        bare = _bare(driver, INSERT.format(PLACE[chosen.db]))
        blocks: dict[str, tuple[Block, Block]] = {
            "a commit each": (nullcontext, nullcontext),
            "in one transaction": (lambda: _begun(driver), transaction.atomic),
        }
        for title, (begun, atomic) in blocks.items():
            print(f"{title}:")
            ways = _ways(values, atomic) | {
                "a bare insert from a coroutine": _arate(values, sync_to_async(bare), begun)
            }
            bench.race(chosen.rounds, "a bare insert", _rate(values, bare, begun), ways)


def _ways(values: Values, block: Block) -> dict[str, Callable[[], float]]:
    from tinystore_django import Store

    emails: Queue[Any] = Store().queue("emails")

    def named(value: dict[str, Any]) -> None:
        emails.add(value, id=value["to"])

    async def anamed(value: dict[str, Any]) -> None:
        await emails.aadd(value, id=value["to"])

    return {
        "add": _rate(values, emails.add, block),
        "add with an id": _rate(values, named, block),
        "aadd": _arate(values, emails.aadd, block),
        "aadd with an id": _arate(values, anamed, block),
    }


def _rate(values: Values, add: Callable[[Any], object], block: Block = nullcontext) -> Callable[[], float]:
    def timed() -> float:
        _empty()
        began = time.perf_counter()
        with block():
            for value in values:
                add(value)
        return len(values) / (time.perf_counter() - began)

    return timed


def _arate(values: Values, add: Callable[[Any], Any], block: Block) -> Callable[[], float]:
    async def timed() -> float:
        # What a view does under ASGI: its calls share the thread that is Django's, and that thread's connection.
        await sync_to_async(_empty)()
        began = time.perf_counter()
        within = block()
        await sync_to_async(within.__enter__)()
        for value in values:
            await add(value)
        await sync_to_async(within.__exit__)(None, None, None)
        took = time.perf_counter() - began
        await sync_to_async(connections.close_all)()
        return len(values) / took

    return lambda: asyncio.run(timed())


def _bare(driver: Any, insert: str) -> Callable[[dict[str, Any]], object]:
    return lambda value: driver.execute(
        insert, ("emails", value["to"], json.dumps(value), None, None, time.time_ns() // 1000, time.time_ns() // 1000)
    )


@contextmanager
def _begun(driver: Any) -> Iterator[None]:
    driver.execute("begin")
    yield
    driver.execute("commit")


def _empty() -> None:
    with connection.cursor() as cursor:
        for table in ("plain", "tinystore_django_job"):
            cursor.execute(f"delete from {table}" if connection.vendor == "sqlite" else f"truncate {table}")


if __name__ == "__main__":
    main()
