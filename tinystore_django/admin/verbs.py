"""What an operator may do to jobs, and what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ..lifecycle import operating
from ..lifecycle.operating import Outcome
from .filters import STATE_NAMES
from .showing import number

WHY = {
    **STATE_NAMES,
    "gone": gettext_lazy("gone"),
    "taken": gettext_lazy("whose id another job has"),
    "busy": gettext_lazy("held by another transaction"),
}


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that is done to jobs."""

    name: str
    permission: str
    label: Any
    apply: Callable[..., Outcome]  # takes an alias, primary keys, and what else the operator gave
    states: frozenset[str]  # those of the jobs that it can be done to
    said: Callable[[int], str]
    why: Any  # why others are left as they are

    def allowed(self, request: HttpRequest) -> bool:
        """Whether who asks may do it."""
        return request.user.has_perm(f"tinystore_django.{self.permission}")


def _retried(count: int) -> str:
    return ngettext("Retried %(count)s failed job.", "Retried %(count)s failed jobs.", count)


def _run(count: int) -> str:
    return ngettext("Made %(count)s job due now.", "Made %(count)s jobs due now.", count)


def _moved(count: int) -> str:
    return ngettext("Moved the time of %(count)s job.", "Moved the time of %(count)s jobs.", count)


def _cancelled(count: int) -> str:
    return ngettext("Cancelled %(count)s job.", "Cancelled %(count)s jobs.", count)


RETRY = Verb(
    "retry_now",
    "retry_job",
    gettext_lazy("Retry now"),
    operating.retry,
    frozenset({"failed"}),
    _retried,
    gettext_lazy("only failed jobs can be retried"),
)
RUN = Verb(
    "run_now",
    "retry_job",
    gettext_lazy("Run now"),
    operating.run_now,
    frozenset({"scheduled"}),
    _run,
    gettext_lazy("only scheduled jobs can be made due now"),
)
MOVE = Verb(
    "move_time",
    "move_job",
    gettext_lazy("Move the time"),
    operating.move,
    frozenset({"scheduled", "waiting"}),
    _moved,
    gettext_lazy("only jobs that have not started can be moved"),
)
CANCEL = Verb(
    "cancel",
    "cancel_job",
    gettext_lazy("Cancel"),
    operating.cancel,
    frozenset({"scheduled", "waiting", "running", "failed"}),
    _cancelled,
    gettext_lazy("what is done or gone cannot be cancelled"),
)
VERBS = {verb.name: verb for verb in (RETRY, RUN, MOVE, CANCEL)}


def said(verb: Verb, outcome: Outcome) -> str:
    """What was done, in a sentence; empty where nothing was."""
    return verb.said(outcome.done) % {"count": number(outcome.done)} if outcome.done else ""


def left(verb: Verb, outcome: Outcome) -> str:
    """How many jobs were left as they are, and why; empty where none was."""
    count = outcome.left.total()
    if not count:
        return ""
    text = ngettext(
        "Left %(count)s job as it is (%(reasons)s): %(why)s.",
        "Left %(count)s jobs as they are (%(reasons)s): %(why)s.",
        count,
    )
    return text % {"count": number(count), "reasons": _reasons(outcome.left), "why": verb.why}


def _reasons(left: Counter[str]) -> str:
    each = (
        _("%(count)s %(state)s") % {"count": number(count), "state": WHY[state]} for state, count in left.most_common()
    )
    return ", ".join(each)
