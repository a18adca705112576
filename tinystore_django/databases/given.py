"""What a statement of limited queues is given, as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from .rows import BEGINNING, Start, Waiting


def as_json(given: object) -> str:
    return json.dumps(given)


def as_starts(queues: Collection[str], starts: Mapping[str, Start]) -> str:
    return as_json([{"queue": queue, **asdict(starts.get(queue, BEGINNING))} for queue in queues])


def as_jobs(jobs: Sequence[Waiting]) -> str:
    return as_json([{"id": one.id, "at": one.at, "group": one.group} for one in jobs])
