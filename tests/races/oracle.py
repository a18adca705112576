"""What workers did to the jobs of limited queues, and what of it was wrong.

A trigger writes an Event for every change of a job's state in the transaction that makes the change, and each handler
writes when it began and ended. The ids of these rows tell the order without any clock: a place is given back before
its commit, and a claim that counts on it begins behind that commit.

A worker that was stopped past its lease, or killed, may be at a job still, or have been, when another one runs it
again: its place was given away, and no table can stop that. So a run holds its place from its claim to the moment
when its row was settled or taken back, and what its handler does after that is no part of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection

from tests.project.models import Event
from tinystore_django import Queue
from tinystore_django.options import QueueOptions
from tinystore_django.timing.rates import Rate

COLUMNS = 'queue, key, "group", job, run, attempt, lease, at, started_at, cancelled'
NEW = 'new.queue, new.key, new."group", new.id, new.run, new.attempt, new.lease, new.at, new.started_at, new.cancelled'
OLD = NEW.replace("new.", "old.")
STATES = (
    "case new.state when 0 then 'ready' when 1 then 'running' when 2 then 'failed' when 3 then 'done' else 'aside' end"
)
INSERT = f"insert into project_event (what, {COLUMNS})"
CHANGED = f"{INSERT} values ({STATES}, {NEW});"
GONE = f"{INSERT} values ('gone', {OLD});"

POSTGRESQL = [
    f"""
    create function tests_note() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' then {GONE} else {CHANGED} end if; return null; end $$
    """,
    """
    create trigger tests_changed after update on tinystore_django_job
    for each row when (old.state <> new.state) execute function tests_note()
    """,
    """
    create trigger tests_new after insert or delete on tinystore_django_job
    for each row execute function tests_note()
    """,
]
SQLITE = [
    f"""
    create trigger tests_changed after update of state on tinystore_django_job
    for each row when old.state <> new.state begin {CHANGED} end
    """,
    f"create trigger tests_new after insert on tinystore_django_job for each row begin {CHANGED} end",
    f"create trigger tests_gone after delete on tinystore_django_job for each row begin {GONE} end",
]
DROP = {
    "postgresql": ["drop function tests_note cascade"],
    "sqlite": [f"drop trigger tests_{name}" for name in ("changed", "new", "gone")],
}


@contextmanager
def noted() -> Iterator[None]:
    """Has every change of a job's state written down."""
    _run(POSTGRESQL if connection.vendor == "postgresql" else SQLITE)
    try:
        yield
    finally:
        _run(DROP[connection.vendor])


def _run(statements: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def faults(queue: Queue[Any], options: QueueOptions | None = None) -> list[str]:
    """Everything in the events of a queue that its limits, or the ones given, do not allow."""
    options = options or queue._declaration.options
    events = list(Event.objects.filter(queue=queue.name))
    rows = [event for event in events if event.what not in ("began", "ended")]
    return [
        *_above(options, rows, "run"),
        *_above(options, list(_at_work(events)), "are at work"),
        *_too_often(options, [event for event in rows if event.what == "running"]),
        *_too_early(rows),
        *_not_settled_once(events),
    ]


def _above(options: QueueOptions, events: Iterable[Event], do: str) -> Iterator[str]:
    running: dict[int, Event] = {}
    for event in events:
        running.pop(event.job, None)
        if event.what != "running":
            continue
        running[event.job] = event
        of_group = sum(one.group == event.group for one in running.values())
        if options.total is not None and len(running) > options.total:
            yield f"{event.pk}: {len(running)} {do}"
        if options.group is not None and event.group is not None and of_group > options.group:
            yield f"{event.pk}: {of_group} of {event.group} {do}"


def _at_work(events: Iterable[Event]) -> Iterator[Event]:
    """The same rows as if a run lasted from where its handler began to where it ended or its row was taken away."""
    runs: dict[tuple[str, int], Event] = {}
    at_work: dict[int, Event] = {}
    for event in events:
        if event.what == "running":
            runs[event.key, event.attempt] = event
        elif event.what == "began" and (run := runs.get((event.key, event.attempt))):
            at_work[run.job] = run
            yield run
        elif event.what == "ended" and (run := runs.get((event.key, event.attempt))):
            if at_work.get(run.job) is run:
                yield Event(pk=event.pk, what="ended", job=at_work.pop(run.job).job)
        elif event.what not in ("began", "ended"):
            runs = {name: run for name, run in runs.items() if run.job != event.job}
            at_work.pop(event.job, None)
            yield event


def _too_often(options: QueueOptions, starts: Sequence[Event]) -> Iterator[str]:
    if options.rate is not None:
        yield from _in_a_window(options.rate, starts, "in all")
    if options.group_rate is not None:
        groups: defaultdict[str, list[Event]] = defaultdict(list)
        for start in starts:
            if start.group is not None:
                groups[start.group].append(start)
        for group, some in groups.items():
            yield from _in_a_window(options.group_rate, some, f"of {group}")


def _in_a_window(rate: Rate, starts: Iterable[Event], which: str) -> Iterator[str]:
    times = sorted(start.started_at for start in starts)
    for first, later in zip(times, times[rate.count :], strict=False):
        if later - first < rate.span:
            yield f"{rate.count + 1} {which} within {later - first} us, of {rate.span}"


def _too_early(rows: Sequence[Event]) -> Iterator[str]:
    starts = [event for event in rows if event.what == "running"]
    yield from (f"{one} {one.at - one.started_at} us before its time" for one in starts if one.started_at < one.at)


def _not_settled_once(events: Sequence[Event]) -> Iterator[str]:
    """Every job is gone, and unless it was cancelled its last run is one whose handler had come to its end."""
    ends: defaultdict[tuple[str | None, int], list[int]] = defaultdict(list)
    for event in events:
        if event.what == "ended":
            ends[event.key, event.attempt].append(event.pk)
    of_jobs: defaultdict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.job is not None:
            of_jobs[event.job].append(event)
    for *before, last in of_jobs.values():
        if last.what != "gone":
            yield f"job {last.job} is left: {last}"
        elif before[-1].what == "running" and not last.cancelled:
            ended = ends[last.key, last.attempt]
            if len(ended) != 1 or not before[-1].pk < ended[0] < last.pk:
                yield f"{last}: its handler ended {len(ended)} times"


def counted(queue: Queue[Any]) -> Counter[str]:
    """How often each thing happened."""
    return Counter(Event.objects.filter(queue=queue.name).values_list("what", flat=True))
