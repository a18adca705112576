"""Queues whose handlers go wrong in the ways that handlers do: with connections, timeouts, forks and odd raises."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection

from django.db import Error, IntegrityError, connection, transaction

from tests.project.models import End, Mark, Order, Start
from tinystore_django import Backoff, Run, store

SOON = Backoff("100ms", "100ms")

# A few statements each, four at once; tried until it works, for a database that comes and goes.
loads = store.queue("loads", str, attempts=1000, backoff=SOON, concurrency=4)
# The same, and done jobs stay for a while.
kept_loads = store.queue("kept-loads", str, attempts=1000, backoff=SOON, concurrency=4, dedupe="1h")
# One kind of damage to the thread's connection each, or the probe of what it left behind.
damages = store.queue("damages", str, attempts=1, backoff=SOON, concurrency=1, dedupe="1h")
# Its last act ends every connection of its worker.
cuts = store.queue("cuts", str, attempts=3, backoff=SOON, dedupe="1h")
# A child process by fork, which queries.
forks = store.queue("forks", str, attempts=1, dedupe="1h", concurrency=2)
# Raise the kind that is their value.
raises = store.queue("raises", str, attempts=2, backoff=SOON)
async_raises = store.queue("async-raises", str, attempts=2, backoff=SOON)
# Stay in a call that Python cannot interrupt, past their timeout.
hangs = store.queue("hangs", str, attempts=2, backoff=SOON, timeout="500ms", concurrency=4, dedupe="1h")
# Outlives its timeout and, tenfold, the time of a retry.
outlasting = store.queue(
    "outlasting", str, attempts=5, backoff=Backoff("1ms", "1ms"), timeout="100ms", concurrency=2, dedupe="1h"
)
# Reports the memory of its process, in KiB, and the queries logged before its own.
weighed = store.queue("weighed", str, concurrency=2)


@loads.handler
@kept_loads.handler
def load(name: str, run: Run) -> None:
    with transaction.atomic():
        Mark.objects.create(name=name, attempt=run.attempt)
    time.sleep(0.01)


def unmanaged() -> None:
    transaction.set_autocommit(False)
    Order.objects.create(email="half-made")
    with suppress(Error), connection.cursor() as cursor:
        cursor.execute("select 1/0 from no_such_table")


def caught() -> None:
    order = Order.objects.create(email="twice")
    with suppress(IntegrityError):
        Order.objects.create(pk=order.pk, email="twice")
    order.delete()


def closed() -> None:
    connection.close()


def closed_below() -> None:
    connection.ensure_connection()
    connection.connection.close()


def begun() -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    Order.objects.create(email="half-made")


def entered() -> None:
    transaction.atomic().__enter__()
    Order.objects.create(email="half-made")


def set_search_path() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET search_path TO nothing")


def set_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET ROLE pg_monitor")


def set_pragma() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = on")


DAMAGES: dict[str, Callable[[], None]] = {
    damage.__name__: damage
    for damage in (
        unmanaged,
        caught,
        closed,
        closed_below,
        begun,
        entered,
        set_search_path,
        set_role,
        set_pragma,
    )
}


@damages.handler
def damage(kind: str, run: Run) -> None:
    if kind in DAMAGES:
        DAMAGES[kind]()
    else:
        damages.get("none")
        Mark.objects.create(name=kind, attempt=run.attempt, process=threading.get_native_id())


@cuts.handler
def cut(name: str, run: Run) -> None:
    import psycopg

    Mark.objects.create(name=name, attempt=run.attempt)
    parameters = connection.get_connection_params()
    with psycopg.connect(**{**parameters, "application_name": "cutter"}, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s",
            [os.environ["PGAPPNAME"]],
        )


@forks.handler
def fork(name: str, run: Run) -> None:
    before = Order.objects.count()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_in_child, args=[name])
    child.start()
    child.join()
    assert child.exitcode == 0
    here, there = context.Pipe()
    sleeper = context.Process(target=_sleep_in_child, args=[there])
    sleeper.start()
    here.recv()
    sleeper.terminate()
    sleeper.join(10)
    assert sleeper.exitcode == -signal.SIGTERM
    assert Order.objects.count() >= before
    Mark.objects.create(name=name, attempt=run.attempt)


def _in_child(name: str) -> None:
    Order.objects.create(email=name)
    os._exit(0)


def _sleep_in_child(parent: Connection) -> None:
    parent.send("started")  # Python drops a signal that comes while it forks
    time.sleep(30)


class OddError(BaseException):
    """No Exception."""


class BrokenError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class ExitingError(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)


def deeper(depth: int = 0) -> int:
    return deeper(depth + 1) + 1


def exit_in_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sys.exit, "from a pool").result()


def throw(error: BaseException) -> Callable[[], object]:
    def thrower() -> None:
        raise error

    return thrower


RAISES: dict[str, Callable[[], object]] = {
    "SystemExit": throw(SystemExit(3)),
    "KeyboardInterrupt": throw(KeyboardInterrupt()),
    "GeneratorExit": throw(GeneratorExit()),
    "MemoryError": throw(MemoryError()),
    "CancelledError": throw(asyncio.CancelledError()),
    "OddError": throw(OddError()),
    "BrokenError": throw(BrokenError()),
    "ExitingError": throw(ExitingError()),
    "RecursionError": deeper,
    "StopIteration": throw(StopIteration()),
    "pool": exit_in_a_pool,
}


@raises.handler
def raise_(kind: str, run: Run) -> None:
    Mark.objects.create(name=kind, attempt=run.attempt)
    RAISES[kind]()


@async_raises.handler
async def raise_async(kind: str, run: Run) -> None:
    await Mark.objects.acreate(name=kind, attempt=run.attempt)
    RAISES[kind]()


def receive() -> None:
    one, other = socket.socketpair()
    with one, other:
        threading.Timer(3.0, other.send, [b"late"]).start()
        one.recv(1)


def query() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select pg_sleep(3)")


def spin() -> None:
    while True:
        pass


HANGS: dict[str, Callable[[], object]] = {
    "sleep": lambda: time.sleep(3),
    "receive": receive,
    "query": query,
    "spin": spin,
    "plain": lambda: None,
}


@hangs.handler
@outlasting.handler
def hang(kind: str, run: Run) -> None:
    Start.objects.create(name=run.id or kind, attempt=run.attempt)
    HANGS[kind]()
    End.objects.create(name=run.id or kind, attempt=run.attempt)


@weighed.handler
def weigh(name: str) -> None:
    logged = len(connection.queries_log)
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    Mark.objects.create(name=name, attempt=logged, process=pages * os.sysconf("SC_PAGE_SIZE") // 1024)
