"""The rows. One job row is the whole of a job's life; what moves it is in `store`."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .fields import ByteTextField, InstantField


class Job(models.Model):
    """A job, from its add to its end. Scheduled and waiting are one state: `at` against the clock tells them apart."""

    class State(models.IntegerChoices):
        READY = 0, _("ready")
        RUNNING = 1, _("running")
        FAILED = 2, _("failed")
        DONE = 3, _("done")
        ASIDE = 4, _("set aside")  # ready, but its group is full

    id = models.BigAutoField(primary_key=True)
    queue = ByteTextField(_("queue"))
    key = ByteTextField(_("id"), null=True, blank=True)
    value = models.TextField(_("value"))
    group = ByteTextField(_("group"), null=True, blank=True)
    repeat = models.TextField(_("repeat"), null=True, blank=True)

    state = models.SmallIntegerField(_("state"), choices=State.choices, default=State.READY, db_default=State.READY)
    at = InstantField(_("due"))  # when it may start: for a retry or a snooze, its time
    due = InstantField(_("run's time"))  # what its handler sees as run.at
    attempt = models.IntegerField(_("attempt"), default=0, db_default=0)

    # The fence: it grows at each claim, so that what an earlier run says later is not heard.
    run = models.IntegerField(default=0, db_default=0)
    lease = models.BigIntegerField(_("lease"), null=True, blank=True)
    started_at = InstantField(_("started"), null=True, blank=True)
    progress = models.TextField(_("progress"), null=True, blank=True)

    # `set` of a running job: one run more, at this time and in this group.
    next_at = InstantField(null=True, blank=True)
    next_group = ByteTextField(null=True, blank=True)

    cancelled = models.BooleanField(_("cancelled"), default=False, db_default=False)
    # Its id may be taken by another job, though the row is still here.
    released = models.BooleanField(default=False, db_default=False)

    ended_at = InstantField(_("ended"), null=True, blank=True)
    until = InstantField(null=True, blank=True)  # failed, done: no call finds it from then on
    kept_until = InstantField(null=True, blank=True)  # failed, done: the row may be cleared from then on
    error = models.TextField(_("error"), null=True, blank=True)
    traceback = models.TextField(_("traceback"), null=True, blank=True)
    last_started_at = InstantField(null=True, blank=True)
    last_ended_at = InstantField(null=True, blank=True)

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "key"],
                condition=Q(key__isnull=False, released=False),
                name="tinystore_job_key",
            ),
        ]
        indexes = [
            models.Index(fields=["queue", "at", "id"], condition=Q(state=0), name="tinystore_job_ready"),
            models.Index(fields=["queue", "group"], condition=Q(state=1), name="tinystore_job_running"),
            models.Index(fields=["queue", "group", "at", "id"], condition=Q(state=4), name="tinystore_job_aside"),
            models.Index(
                fields=["queue", "group", "at", "id"],
                condition=Q(state=0, group__isnull=False),
                name="tinystore_job_ready_group",
            ),
            models.Index(
                fields=["queue", "state", "ended_at", "id"],
                condition=Q(state__in=[2, 3]),
                name="tinystore_job_ended",
            ),
            models.Index(fields=["kept_until"], condition=Q(kept_until__isnull=False), name="tinystore_job_kept_until"),
        ]

    def __str__(self) -> str:
        return f"{self.queue}/{self.key or self.pk}"


class Step(models.Model):
    """The answer of one finished step, kept until its job ends."""

    id = models.BigAutoField(primary_key=True)
    # No foreign key: it would cost every settle a look, and steps go with the settle that ends their job.
    job = models.BigIntegerField(_("job"))
    name = ByteTextField(_("name"))
    answer = models.TextField(_("answer"))

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="tinystore_step_name")]

    def __str__(self) -> str:
        return str(self.name)


class Lease(models.Model):
    """A worker process that is alive until `expires_at`, unless it renews it."""

    id = models.BigAutoField(primary_key=True)
    name = models.TextField(_("worker"))  # host:pid
    queues = models.TextField(_("queues"))
    started_at = InstantField(_("started"))
    expires_at = InstantField(_("expires"))

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")

    def __str__(self) -> str:
        return self.name


class Limit(models.Model):
    """What the workers of one limited queue share, and the row they lock to count."""

    queue = ByteTextField(_("queue"), primary_key=True)
    starts = models.TextField(default="[]", db_default="[]")
    refilled_at = models.BigIntegerField(default=0, db_default=0)
    floor = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = _("limit")
        verbose_name_plural = _("limits")

    def __str__(self) -> str:
        return str(self.queue)
