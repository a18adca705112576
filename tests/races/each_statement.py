"""A program: kill -9 before and after every statement of a schedule's run, each time in another child.

It prints a line a child: whether the child had settled the run, and the attempts that ran, the child's and those
that made up for it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection, connections
from django.utils import timezone

from tests.project.models import Mark
from tinystore_django import Run, Store
from tinystore_django.models import Job

DUE = timezone.now() - timedelta(days=1)
cleanup = Store().schedule("cleanup", cron="0 0 1 1 *", time_zone="UTC")


@cleanup.handler
def clean(run: Run) -> None:
    assert run.at == DUE
    Mark.objects.create(name="cleanup", attempt=run.attempt)


class Killer:
    """Ends its process before or after the Nth statement of this thread's connection."""

    def __init__(self, number: int, when: str) -> None:
        self.left, self.when = number, when

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.left -= 1
        self._kill("before")
        answer = execute(*arguments)
        self._kill("after")
        return answer

    def _kill(self, when: str) -> None:
        if (self.left, self.when) == (0, when):
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    cleanup.run_due()
    for when in ("before", "after"):
        number = 1
        while killed_at(number, when):
            number += 1
    print("ended", flush=True)


def killed_at(number: int, when: str) -> bool:
    """Whether the child came so far; what it left is run before this returns."""
    Mark.objects.all().delete()
    Job.objects.update(at=DUE, due=DUE)
    connections.close_all()  # no child may share one
    pid = os.fork() or _run(Killer(number, when))
    was_killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    was_settled = settled()
    while not settled():
        cleanup.run_due()
        time.sleep(0.02)
    attempts = Mark.objects.order_by("pk").values_list("attempt", flat=True)
    print("ran", int(was_settled), *attempts, flush=True)
    return was_killed


def settled() -> bool:
    return Job.objects.filter(at__gt=timezone.now()).exists()


def _run(killer: Killer) -> int:
    with connection.execute_wrapper(killer):
        cleanup.run_due()
    os._exit(0)
