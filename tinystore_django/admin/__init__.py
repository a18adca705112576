"""The operator's pages. Django's admin finds this module by its name."""

from .jobs import JobAdmin
from .queues import QueueAdmin
from .schedules import ScheduleAdmin
from .workers import WorkerAdmin

__all__ = ["JobAdmin", "QueueAdmin", "ScheduleAdmin", "WorkerAdmin"]
