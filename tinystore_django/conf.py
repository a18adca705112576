"""The settings, each read here with its default.

    TINYSTORE = {"LEASE": "30s", "POLL": "1s", "GRACE": "30s", "NOTIFY": True, "REDACT": None}

All are optional. They are read at each use, so that `override_settings` works in tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from .errors import InvalidError, quoted
from .timing.durations import duration

DEFAULTS: dict[str, Any] = {"LEASE": "30s", "POLL": "1s", "GRACE": "30s", "NOTIFY": True, "REDACT": None}

SHORTEST_LEASE = 1_000_000  # microseconds


def lease() -> int:
    """How long a worker may be silent before its jobs are taken back, in microseconds."""
    return long_enough(_span("LEASE"), f"TINYSTORE['LEASE'] {quoted(given('LEASE'))}")


def long_enough(lease: int, what: str) -> int:
    """The lease, once it is sure that a busy moment does not cost a live worker its jobs: they would run twice.

    Raises:
        InvalidError: it is under a second; its text begins with `what`.
    """
    if lease < SHORTEST_LEASE:
        raise InvalidError(f"{what}: write at least 1s, or a busy moment costs a live worker its jobs")
    return lease


def poll() -> int:
    """The longest a worker sleeps before it looks for due jobs, in microseconds."""
    return _span("POLL")


def grace() -> int:
    """How long a stopping worker waits for its handlers, in microseconds; may be 0."""
    return duration(given("GRACE"), "TINYSTORE['GRACE']")


def notify() -> bool:
    """Whether PostgreSQL's LISTEN and NOTIFY are used."""
    answer = given("NOTIFY")
    if not isinstance(answer, bool):
        raise InvalidError(f"TINYSTORE['NOTIFY'] {quoted(answer)}: write True or False")
    return answer


def redact() -> Callable[[str, Any], Any] | None:
    """What the admin shows of a value, by its queue and the value; None where it shows all."""
    path = given("REDACT")
    if path is None:
        return None
    try:
        hook = import_string(path)
    except (ImportError, AttributeError) as error:  # the latter: no text at all
        raise InvalidError(
            f"TINYSTORE['REDACT'] {quoted(path)}: write a function's path, as 'shop.admin.redact'"
        ) from error
    if not callable(hook):
        raise InvalidError(
            f"TINYSTORE['REDACT'] {quoted(path)}: is no function, write one that takes a queue and a value"
        )
    answer: Callable[[str, Any], Any] = hook
    return answer


def given(name: str) -> Any:
    """What the project set, or the default."""
    return chosen().get(name, DEFAULTS[name])


def chosen() -> dict[str, Any]:
    """The project's own TINYSTORE, which may name some of the settings only."""
    answer = getattr(settings, "TINYSTORE", {})
    if not isinstance(answer, dict):
        raise InvalidError(f'TINYSTORE {quoted(answer)}: write a dictionary, such as {{"LEASE": "30s"}}')
    return answer


def _span(name: str) -> int:
    span = duration(given(name), f"TINYSTORE[{name!r}]")
    if span == 0:
        raise InvalidError(
            f"TINYSTORE[{name!r}] {quoted(given(name))}: must be longer than nothing, such as {DEFAULTS[name]!r}"
        )
    return span
