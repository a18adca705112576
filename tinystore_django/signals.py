"""The signals of a job's life. `sender` is its queue's name; a receiver that raises is logged, and changes nothing.

job_added(id)                               after the commit that added it, in the process that added it
job_started(id, attempt)                    in the worker, before its handler is called
job_settled(id, attempt, outcome, error)    in the worker, once the run is settled; outcome is "done", "retry",
                                            "snoozed", "failed", "cancelled", "lost" or "given back"
"""

from django.dispatch import Signal

job_added = Signal()
job_started = Signal()
job_settled = Signal()
