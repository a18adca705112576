"""manage.py tinystore_schedules: what repeats, when it comes next, and how it last went."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime, tzinfo
from itertools import chain, islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections, router
from django.utils import timezone

from tinystore_django.databases import database
from tinystore_django.errors import InvalidError, quoted
from tinystore_django.lifecycle import repeating
from tinystore_django.lifecycle.pausing import paused
from tinystore_django.lifecycle.repeating import Name, Repeating
from tinystore_django.management.saying import say
from tinystore_django.models import Job
from tinystore_django.options import whole
from tinystore_django.registry import find
from tinystore_django.timetable import CANCELLED, NOT_OPENED, is_of_queue, repeat_of, schedules, took
from tinystore_django.timing import clock
from tinystore_django.timing.cron import Cron
from tinystore_django.timing.repeats import Repeat
from tinystore_django.values import first_line, is_text, plain
from tinystore_django.withholding import kept_error
from tinystore_django.worker.startup import check_migrated

MOST = 100
LAST = clock.to_datetime(clock.LATEST)


class Command(BaseCommand):
    help = "Shows the schedules and the repeating jobs: when each comes next, its last run and its error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", metavar="name", help="only this schedule, queue, or queue/id")
        parser.add_argument("--next", type=int, default=1, metavar="N", help="show the next N times")
        parser.add_argument("--all", action="store_true", help=f"show more than the first {MOST}")
        parser.add_argument("--cancel", metavar="NAME", help="cancel this schedule or queue/id, and show nothing")
        parser.add_argument("--database", choices=tuple(connections), help="an alias; unless given, where jobs go")

    def handle(self, *args: Any, **options: Any) -> None:
        alias = options["database"] or router.db_for_write(Job)
        try:
            check_migrated(alias)
            count = whole(options["next"], "--next")
            if options["cancel"] is not None:
                self._cancel(alias, options["cancel"])
            else:
                self._show(alias, [_name(text) for text in options["names"]], count, options["all"])
        except InvalidError as error:
            raise CommandError(str(error)) from error

    def _show(self, alias: str, names: Collection[Name], count: int, everything: bool) -> None:
        now = database(alias).now()
        found = chain(schedules(alias, names, now), repeating.others(alias, names))
        first = next(found, None)
        if first is None:
            say(self.stdout, f"nothing repeats in database {alias!r}{' by that name' if names else ''}")
            return
        since = paused(alias)
        for job in islice(chain([first], found), None if everything else MOST):
            say(self.stdout, "\n".join(_described(job, alias, now, count, since.get(job.queue))))
        if next(found, None) is not None:
            say(self.stdout, f"the first {MOST} are shown: name a queue or a queue/id, or add --all")

    def _cancel(self, alias: str, text: str) -> None:
        name = _name(text)
        if not repeating.cancel(alias, name.queue, name.key or name.queue):
            raise CommandError(f"nothing by the name {quoted(text)} repeats: write it as tinystore_schedules shows it")
        declaration = find(alias, name.queue)
        back = declaration is not None and declaration.repeat is not None
        until = ", until a worker starts with it: take it out of the code" if back else ""
        say(self.stdout, f"{text} is cancelled{until}")


def _name(text: str) -> Name:
    queue, _, key = text.partition("/")
    if not is_text(queue) or (key and not is_text(key)):
        raise InvalidError(f"name {quoted(text)}: write a schedule, a queue, or a queue and an id as reports/7")
    return Name(queue, key or None)


def _described(job: Repeating, alias: str, now: int, count: int, since: datetime | None) -> Iterator[str]:
    """The job in lines: its name and its repeat, then what there is to say of it."""
    repeat = repeat_of(job)
    place = repeat.zone if isinstance(repeat, Cron) else timezone.get_current_timezone()
    yield f"{_named(job, alias)}: {repeat.in_words() if repeat else f'{quoted(job.repeat)}, which no longer reads'}"
    yield f"  next      {_next(job, place)}"
    for at in islice(_then(job, repeat, now), count - 1):
        yield f"  then      {_moment(at, place)}"
    if since is not None:
        yield f"  paused    since {_moment(since, place)}, until it is resumed in the admin"
    if job.last_run is not None:
        yield f"  last run  {_moment(job.last_run.started_at, place)}, took {took(job.last_run)}"
    if error := kept_error(job.error):
        yield f"  error     {first_line(error)}"
    if unrun := _unrun(job, alias):
        yield f"  not run   {unrun}"


def _named(job: Repeating, alias: str) -> str:
    """What a call of this command takes: a schedule's name, else queue/id."""
    return plain(job.queue if job.is_schedule and not is_of_queue(alias, job.queue) else f"{job.queue}/{job.key}")


def _next(job: Repeating, place: tzinfo) -> str:
    at = _moment(job.at, place)
    if job.state == "scheduled" and job.at == LAST and repeat_of(job) is None:
        return "once its repeat reads again"
    if job.state == "scheduled":
        return f"{at}, a retry after attempt {job.attempt}" if job.attempt else at
    return {
        "waiting": f"{at}, due now",
        "running": f"now: it runs, and was due at {at}",
        "failed": "never: it has failed",
        "done": "never: it is done",
        NOT_OPENED: f"{at}, once a worker has started with it",
        CANCELLED: f"never: cancelled at {at}, until a worker starts with it or it is opened in the admin",
    }[job.state]


def _then(job: Repeating, repeat: Repeat | None, now: int) -> Iterator[datetime]:
    """The ticks behind the next one, as long as nothing changes them."""
    at = max(clock.from_datetime(job.at), now)
    while repeat and job.state not in ("failed", CANCELLED) and (at := repeat.next(at)) < clock.LATEST:
        yield clock.to_datetime(at)


def _unrun(job: Repeating, alias: str) -> str | None:
    """Why no worker of this code runs it; None where one does."""
    declaration = find(alias, job.queue)
    if declaration is None:
        return f"its code is gone: declare it again, or --cancel {_named(job, alias)}"
    return "it has no handler" if declaration.handler is None else None


def _moment(at: datetime, place: tzinfo) -> str:
    # The first and the last day of the calendar are not in every zone: they stay in UTC.
    with suppress(OverflowError):
        at = at.astimezone(place)
    return f"{at.isoformat(' ', 'milliseconds' if at.microsecond else 'seconds')} {at.tzinfo}"
