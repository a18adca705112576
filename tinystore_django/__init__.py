"""Job queues in the project's own database."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .errors import ConflictError as ConflictError
    from .errors import CorruptError as CorruptError
    from .errors import InvalidError as InvalidError
    from .errors import LimitError as LimitError
    from .errors import RunStopped as RunStopped
    from .errors import TinystoreError as TinystoreError
    from .jobs import Job as Job
    from .jobs import JobPage as JobPage
    from .jobs import LastRun as LastRun
    from .options import Backoff as Backoff
    from .options import Concurrency as Concurrency
    from .queues import Queue as Queue
    from .runs import Outcome as Outcome
    from .runs import Run as Run
    from .schedules import Schedule as Schedule
    from .stores import Store as Store
    from .stores import store as store
    from .worker.worker import Worker as Worker

# Where each public name lives. They load at their first use: this package is imported before Django's apps are.
_HOMES = {
    "errors": ["ConflictError", "CorruptError", "InvalidError", "LimitError", "RunStopped", "TinystoreError"],
    "jobs": ["Job", "JobPage", "LastRun"],
    "options": ["Backoff", "Concurrency"],
    "queues": ["Queue"],
    "runs": ["Outcome", "Run"],
    "schedules": ["Schedule"],
    "stores": ["Store", "store"],
    "worker.worker": ["Worker"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604  one list, above
    *_HOME,
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
