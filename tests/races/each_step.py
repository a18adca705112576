"""A program: kill -9 after each of five steps, and at every statement of atomic ones, each time in another child.

It prints a line a job: how often each of its steps' functions has run, or how often its rows are there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db import connection, connections

from tests.project.models import Mark
from tests.races.each_statement import Killer
from tinystore_django import ConflictError, Run, Store
from tinystore_django.models import Job, Lease, Step

STEPS = [f"step {number}" for number in range(1, 6)]
ATOMIC = [f"step {number}" for number in range(1, 8)]
store = Store()
in_turn = store.queue("in-turn", int)
atomic = store.queue("atomic", int)
stale = store.queue("stale", int)


def mark(name: str) -> int:
    return int(Mark.objects.create(name=name).pk)


@in_turn.handler
def die_in_turn(value: int, run: Run) -> None:
    for number, name in enumerate(STEPS, 1):
        run.step(name, lambda name=name: mark(name))
        if run.attempt == number:
            os.kill(os.getpid(), signal.SIGKILL)


@atomic.handler
def finish(value: int, run: Run) -> None:
    for name in ATOMIC:
        run.step(name, lambda name=name: mark(name), atomic=True)


def finish_under(killer: Killer, value: int, run: Run) -> None:
    wrapper: Any = connection
    commit = wrapper.commit
    wrapper.commit = lambda: killer(commit)
    with connection.execute_wrapper(killer):
        finish(value, run)
    del wrapper.commit


def main() -> None:
    after_each_step()
    killed = sum(kills(when) for when in ("before", "after"))
    print("killed", killed, flush=True)
    outlived()
    print("ended", flush=True)


def after_each_step() -> None:
    in_turn.add(0)
    while Job.objects.exists():
        in_child(in_turn.run_due)
    print("in turn", *ran(STEPS), Step.objects.count(), flush=True)


def kills(when: str) -> int:
    """Kills a child at each statement of the handler; how many there were."""
    number = 1
    while killed_at(number, when):
        number += 1
    return number - 1


def killed_at(number: int, when: str) -> bool:
    """Whether the child came so far; what it left is run before this returns."""
    Mark.objects.all().delete()
    atomic.add(0)
    killer = Killer(number, when)
    was_killed = in_child(lambda: atomic.run_due(lambda value, run: finish_under(killer, value, run)))
    atomic.run_due()
    print("rows", *ran(ATOMIC), Step.objects.count(), Job.objects.count(), flush=True)
    return was_killed


def outlived() -> None:
    """A child that is taken for dead goes on with a step after another has run its job."""
    Mark.objects.all().delete()
    stale.add(0)
    reads, writes = os.pipe()
    started, starts = os.pipe()

    def go_on(value: int, run: Run) -> None:
        run.step("first", lambda: mark("first"))
        os.write(starts, b".")
        os.read(reads, 1)
        try:
            run.step("late", lambda: mark("late"))
        except ConflictError as error:
            print("told:", error, flush=True)

    def others() -> None:
        os.read(started, 1)
        Lease.objects.all().delete()
        assert stale.run_due(lambda value, run: run.step("first", lambda: mark("again"))) == 1
        os.write(writes, b".")

    in_child(lambda: stale.run_due(go_on), others)
    print("marks", *sorted(ran_by_name()), Step.objects.count(), flush=True)


def in_child(call: Callable[[], object], meanwhile: Callable[[], object] = lambda: None) -> bool:
    """Calls in a child process; whether it was killed. Its lease is then over at once."""
    connections.close_all()  # no child may share one
    pid = os.fork()
    if not pid:
        try:
            call()
        finally:
            sys.stdout.flush()
            os._exit(0)
    meanwhile()
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    Lease.objects.all().delete()
    return killed


def ran_by_name() -> Counter[str]:
    return Counter(Mark.objects.values_list("name", flat=True))


def ran(names: list[str]) -> list[int]:
    return [ran_by_name()[name] for name in names]
