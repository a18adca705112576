"""manage.py tinystore_work: options in, workers running."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tinystore_django import __version__, conf
from tinystore_django.errors import InvalidError, quoted
from tinystore_django.log import logger
from tinystore_django.management.saying import say
from tinystore_django.options import whole
from tinystore_django.registry import Declaration
from tinystore_django.timing.durations import duration
from tinystore_django.worker.farewell import OVERDUE, PARENTS, Farewell, line_by_line
from tinystore_django.worker.processes import Processes, is_child, orphaned
from tinystore_django.worker.pulse import Pulse
from tinystore_django.worker.reloading import Reloading
from tinystore_django.worker.shutdown import Shutdown
from tinystore_django.worker.startup import await_database, chosen, described, without_handler
from tinystore_django.worker.worker import Worker

# The longest a reload waits for handlers, in seconds: their jobs run again with the new code.
RELOAD_GRACE = 5.0


class Command(BaseCommand):
    help = "Runs the jobs of the project's queues and schedules until it is stopped."
    _farewell: Farewell | None = None  # where the process is this command

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queues", nargs="*", metavar="queue", help="run only these queues and schedules")
        parser.add_argument("--exclude", action="append", default=[], metavar="QUEUE", help="run all but this; repeat")
        parser.add_argument("--concurrency", type=_whole, metavar="N", help="the most handlers of one queue at once")
        parser.add_argument("--processes", type=_whole, default=1, metavar="N", help="run N processes")
        parser.add_argument("--lease", type=_lease, help="after how long a silent worker's jobs are taken back")
        parser.add_argument("--poll", type=_span, help="the longest sleep between two looks for due jobs")
        parser.add_argument("--grace", type=_span_or_none, help="how long to wait for handlers when stopping")
        parser.add_argument("--until-idle", action="store_true", help="stop once nothing runs and nothing may start")
        parser.add_argument("--max-jobs", type=_whole, metavar="N", help="stop after N runs")
        parser.add_argument(
            "--reload",
            action=BooleanOptionalAction,
            help="start again when the code changes; the default under DEBUG",
        )

    def run_from_argv(self, argv: list[str]) -> None:
        if argv != sys.argv:  # a program calls the command: its process is the program's own to end
            super().run_from_argv(argv)
            return
        line_by_line()
        with Farewell() as self._farewell:
            super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        # What pg_stat_activity shows of this process, unless the project names its connections.
        os.environ.setdefault("PGAPPNAME", "tinystore_work")
        _log_to_console(options["verbosity"])
        shutdown = Shutdown()
        with shutdown.on_signals(to_the_end=self._farewell is not None):
            try:
                self._bound(shutdown, options)
                code, restart = self._run(shutdown, options)
            except InvalidError as error:
                raise CommandError(str(error)) from error
            if self._farewell is not None:
                self._farewell.bound(shutdown.left(_grace(options)))
        if restart is not None:
            restart()
        if code:
            sys.exit(code)

    def _bound(self, shutdown: Shutdown, options: dict[str, Any]) -> None:
        if self._farewell is not None:
            past = PARENTS if options["processes"] > 1 else OVERDUE
            shutdown.on_asked(partial(self._farewell.asked, _grace(options) + past))

    def _run(self, shutdown: Shutdown, options: dict[str, Any]) -> tuple[int, Callable[[], object] | None]:
        declarations = chosen(options["queues"], options["exclude"])
        if silent := without_handler(options["queues"]):
            self._say(f"no handler, not run: {', '.join(silent)}")
        workers = [Worker(some, **_pace(options)) for some in _by_database(declarations)]
        pulse = Pulse().begin()
        for worker in workers:
            if not await_database(worker, partial(_is_to_end, shutdown)):
                return _gave_up(worker, pulse), None
        if _is_to_end(shutdown, 0.0):
            return 0, None
        for line in [] if is_child() else described(workers):
            self._say(f"tinystore_django {__version__} {line}")
        reloading = _reloading(shutdown, options)
        if options["processes"] > 1:
            processes = Processes(options["processes"], _lease_of(options), _grace(options))
            shutdown.on_second(processes.end)
            code = processes.run(shutdown.wait)
        else:
            code = _work(workers, shutdown, reloading, pulse)
        return code, reloading.restart if reloading and reloading.wanted else None

    def _say(self, line: str) -> None:
        with suppress(AttributeError, OSError, ValueError):  # none, closed, or nobody reads it any more
            say(self.stdout, line)


def _work(workers: list[Worker], shutdown: Shutdown, reloading: Reloading | None, pulse: Pulse) -> int:
    for worker in workers:
        worker.start()

    def stop() -> None:
        for worker in workers:
            worker.ask_to_stop(min(worker.grace, RELOAD_GRACE) if reloading and reloading.wanted else None)

    shutdown.on_asked(stop)
    while not all(worker.wait(0.5) for worker in workers):
        if (orphaned() or any(worker.is_broken for worker in workers)) and not shutdown.asked:
            shutdown.ask()
    settled = sum(worker.settled for worker in workers)
    logger.info("ended: settled %d run%s", settled, "s" * (settled != 1))
    if any(worker.is_broken for worker in workers):
        return 1
    for worker in workers:
        if worker.gave_up:
            return _gave_up(worker, pulse)
    if not shutdown.asked:
        pulse.done()
    return 0


def _is_to_end(shutdown: Shutdown, seconds: float) -> bool:
    """Whether it is asked to stop within so many seconds, or is a child whose parent has died."""
    return shutdown.wait(seconds) or orphaned()


def _gave_up(worker: Worker, pulse: Pulse) -> int:
    """Ends a command that is to end by itself, and cannot; its exit code."""
    logger.error(
        "database %r: no answer for %.0f s, the grace: --until-idle waits no longer", worker.alias, worker.waits
    )
    pulse.done()
    return 1


def _reloading(shutdown: Shutdown, options: dict[str, Any]) -> Reloading | None:
    wanted = settings.DEBUG if options["reload"] is None else options["reload"]
    ends_by_itself = options["until_idle"] or options["max_jobs"] is not None
    if not wanted or (ends_by_itself and options["reload"] is None):
        return None
    reloading = Reloading(shutdown.ask)
    reloading.start()
    return reloading


def _pace(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("concurrency", "lease", "poll", "grace", "until_idle", "max_jobs")}


def _lease_of(options: dict[str, Any]) -> float:
    return (conf.lease() if options["lease"] is None else int(options["lease"])) / 1e6


def _grace(options: dict[str, Any]) -> float:
    return (conf.grace() if options["grace"] is None else int(options["grace"])) / 1e6


def _by_database(declarations: list[Declaration]) -> list[list[Declaration]]:
    def alias(declaration: Declaration) -> str:
        return declaration.alias

    return [list(some) for _, some in groupby(sorted(declarations, key=alias), key=alias)]


def _log_to_console(verbosity: int) -> None:
    """Shows our log, unless the project's LOGGING says where it goes."""
    if logger.hasHandlers():
        return
    console = logging.StreamHandler()
    console.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.logger.addHandler(console)
    logger.setLevel(logging.INFO if verbosity else logging.WARNING)


def _whole(text: str) -> int:
    return _parsed(lambda: whole(int(text) if text.isdecimal() else text, "the number"))


def _lease(text: str) -> int:
    return _parsed(lambda: conf.long_enough(duration(text, "lease"), f"lease {quoted(text)}"))


def _span(text: str) -> int:
    span = _span_or_none(text)
    if not span:
        raise ArgumentTypeError(f"{quoted(text)}: must be longer than nothing, such as 1s")
    return span


def _span_or_none(text: str) -> int:
    return _parsed(lambda: duration(text, "span"))


def _parsed(parse: Callable[[], int]) -> int:
    try:
        return parse()
    except InvalidError as error:
        raise ArgumentTypeError(str(error)) from error
