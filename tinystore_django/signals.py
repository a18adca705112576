"""The signals of a job's life. `sender` is its queue's name; a receiver that raises is logged, and changes nothing.

job_added(id)                               after the commit of an add or set that added it, in that process
job_started(id, job, attempt)               in the worker, before its handler is called; `job` is its primary key
job_settled(id, job, attempt, outcome, error, exception, traceback)
                                            in the worker, once the run is settled; outcome is "done", "retry",
                                            "snoozed", "failed", "cancelled" or "lost"; the exception is the object
                                            itself, None where the handler answered, or another process ran it
"""

from __future__ import annotations

from sys import intern
from typing import Any

from django.dispatch import Signal


class QueueSignal(Signal):
    """A signal of one queue or of all. Django knows senders by identity, and a name may be many equal texts."""

    def __init__(self) -> None:
        super().__init__()
        self._names: set[str] = set()  # keeps the interned names, whose identities Django keeps

    def connect(self, receiver: Any, sender: object = None, weak: bool = True, dispatch_uid: Any = None) -> None:
        """As Django's; the sender is a queue's name, None for all queues."""
        super().connect(receiver, self._known(sender), weak, dispatch_uid)

    def disconnect(self, receiver: Any = None, sender: object = None, dispatch_uid: Any = None) -> bool:
        """As Django's, of what was connected with the same sender."""
        return bool(super().disconnect(receiver, self._known(sender), dispatch_uid))

    def has_listeners(self, sender: Any = None) -> bool:
        """Whether anybody hears of a queue."""
        return bool(self.receivers) and bool(super().has_listeners(self._known(sender)))

    def send_robust(self, sender: Any, **about: Any) -> list[tuple[Any, Any]]:
        """As Django's: answers or exceptions, by receiver."""
        return super().send_robust(self._known(sender), **about)

    async def asend_robust(self, sender: Any, **about: Any) -> list[tuple[Any, Any]]:
        """The same for a coroutine."""
        return list(await super().asend_robust(self._known(sender), **about))

    def _known(self, sender: object) -> str | None:
        if sender is None:
            return None
        name = intern(str(sender))
        self._names.add(name)
        return name


job_added = QueueSignal()
job_started = QueueSignal()
job_settled = QueueSignal()
