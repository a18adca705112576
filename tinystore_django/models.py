"""The rows. One job row is the whole of a job's life; what moves it is in `lifecycle`."""

from django.db import models
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, When
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from .fields import ByteTextField, InstantField
from .installed import OfThisApp
from .values import plain


class Jobs(models.Manager["Job"]):
    """The jobs, each with the `progress` of its run: the JSON last reported, None unless it runs."""

    def get_queryset(self) -> QuerySet["Job"]:
        return self._with_progress.using(self._db)

    @cached_property
    def _with_progress(self) -> QuerySet["Job"]:
        # Made once: to put an expression together takes longer than many a query.
        report = Progress.objects.filter(job=OuterRef("pk"), run=OuterRef("run")).values("progress")
        shown = {"progress": Case(When(state=Job.State.RUNNING, then=Subquery(report)))}
        return super().get_queryset().annotate(**shown)


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

    # `set` of a running job: one run more, at this time and in this group.
    next_at = InstantField(null=True, blank=True)
    next_group = ByteTextField(null=True, blank=True)

    cancelled = models.BooleanField(_("cancelled"), default=False, db_default=False)
    released = models.BooleanField(default=False, db_default=False)  # another job may take its id

    ended_at = InstantField(_("ended"), null=True, blank=True)
    until = InstantField(null=True, blank=True)  # failed, done: no call finds it from then on
    kept_until = InstantField(null=True, blank=True)  # failed, done: the row may be cleared from then on
    error = models.TextField(_("error"), null=True, blank=True)
    traceback = models.TextField(_("traceback"), null=True, blank=True)
    last_started_at = InstantField(null=True, blank=True)
    last_ended_at = InstantField(null=True, blank=True)

    progress: str | None = None  # no column: what `objects` finds in the table of that name

    objects = Jobs()

    class Meta(OfThisApp):
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        # Nobody adds, edits or deletes a row by hand: it would undo what a worker wrote meanwhile.
        default_permissions = ("view",)
        permissions = [
            ("retry_job", _("Can retry failed jobs and run jobs now")),
            ("cancel_job", _("Can cancel jobs")),
            ("move_job", _("Can move the time of jobs")),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "key"],
                condition=Q(key__isnull=False, released=False),
                name="tinystore_job_key",
            ),
        ]
        indexes = [
            models.Index(fields=["queue", "at", "id"], condition=Q(state=0), name="tinystore_job_ready"),
            models.Index(fields=["queue", "started_at"], condition=Q(state=1), name="tinystore_job_running"),
            models.Index(fields=["queue", "group", "at", "id"], condition=Q(state=4), name="tinystore_job_aside"),
            models.Index(
                fields=["queue", "group", "at", "id"],
                condition=Q(state=0, group__isnull=False),
                name="tinystore_job_ready_group",
            ),
            models.Index(
                fields=["queue", "state", "ended_at", "id", "kept_until"],
                condition=Q(state=2) | Q(state=3),  # of an `in` SQLite does not see that it holds 2
                name="tinystore_job_ended",
            ),
            # For the admin: done jobs by their ids, which may be free again, and ended ones by their groups.
            models.Index(
                fields=["queue", "key"], condition=Q(state=3, key__isnull=False), name="tinystore_job_done_key"
            ),
            models.Index(
                fields=["queue", "group", "state", "ended_at", "id", "kept_until"],
                condition=(Q(state=2) | Q(state=3)) & Q(group__isnull=False),
                name="tinystore_job_ended_group",
            ),
            models.Index(fields=["kept_until"], condition=Q(kept_until__isnull=False), name="tinystore_job_kept_until"),
        ]

    def __str__(self) -> str:
        return plain(f"{self.queue}/{self.key or self.pk}")


class Schedule(Job):
    """A job that bears its queue's name, as the one job of a schedule does: a model of its own for the admin's page."""

    class Meta(OfThisApp):
        proxy = True
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        default_permissions = ()


class Step(models.Model):
    """The answer of one finished step, kept until its job ends."""

    id = models.BigAutoField(primary_key=True)
    job = models.BigIntegerField(_("job"))  # no foreign key: it would cost every settle a look
    name = ByteTextField(_("name"))
    answer = models.TextField(_("answer"))

    class Meta(OfThisApp):
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        default_permissions = ("view",)
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="tinystore_step_name")]

    def __str__(self) -> str:
        return plain(str(self.name))


class Progress(models.Model):
    """How far a run is. A row of its own, since a report ten times a second must not write the job's value again."""

    job = models.BigIntegerField(primary_key=True)
    run = models.IntegerField()  # the run it is of: what an earlier one reported is not shown
    progress = models.TextField(_("progress"))

    class Meta(OfThisApp):
        default_permissions = ()

    def __str__(self) -> str:
        return self.progress


class Cancel(models.Model):
    """That a job was cancelled, for whoever watches it: its row is gone, as a done job's is."""

    job = models.BigIntegerField(primary_key=True)
    until = InstantField(db_index=True)  # it may be forgotten from then on

    class Meta(OfThisApp):
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.job)


class Lease(models.Model):
    """A worker process that is alive until `expires_at`, unless it renews it."""

    id = models.BigAutoField(primary_key=True)
    name = models.TextField(_("worker"))  # host:pid
    queues = models.TextField(_("queues"))
    version = models.TextField(_("version"), default="", db_default="")
    woken = models.TextField(_("woken"), default="", db_default="")  # how it hears of new jobs, in words
    started_at = InstantField(_("started"))
    renewed_at = InstantField(_("renewed"), null=True, blank=True)
    expires_at = InstantField(_("expires"))

    class Meta(OfThisApp):
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.name


class Queue(models.Model):
    """What the workers of a queue share, once it has a limit, was paused or cancelled: the row they lock to count."""

    name = ByteTextField(_("queue"), primary_key=True)
    starts = models.TextField(default="[]", db_default="[]")  # the log of its rate
    refill_at = models.BigIntegerField(default=0, db_default=0)  # jobs left aside are not looked for before that
    paused_at = InstantField(_("paused"), null=True, blank=True)
    cancelled_at = InstantField(_("cancelled"), null=True, blank=True)  # of a schedule, until it is opened again

    class Meta(OfThisApp):
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        default_permissions = ("view",)
        permissions = [("pause_queue", _("Can pause and resume queues"))]

    def __str__(self) -> str:
        return plain(str(self.name))


class Group(models.Model):
    """The starts of one group of a queue with a group rate, for as long as they count."""

    id = models.BigAutoField(primary_key=True)
    queue = ByteTextField(_("queue"))
    group = ByteTextField(_("group"))
    starts = models.TextField()
    free_at = models.BigIntegerField(null=True)  # jobs set aside are looked at again then
    until = models.BigIntegerField(db_index=True)  # the row says nothing any more from then on

    class Meta(OfThisApp):
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["queue", "group"], name="tinystore_group_name")]
        indexes = [
            models.Index(fields=["queue", "free_at"], condition=Q(free_at__isnull=False), name="tinystore_group_free"),
        ]

    def __str__(self) -> str:
        return plain(f"{self.queue}/{self.group}")


class Minute(models.Model):
    """What a queue's workers did in one minute: the sums behind the admin's charts, kept for a day."""

    id = models.BigAutoField(primary_key=True)
    queue = ByteTextField(_("queue"))
    minute = InstantField(_("minute"), db_index=True)
    started = models.BigIntegerField(default=0, db_default=0)
    failed = models.BigIntegerField(default=0, db_default=0)
    longest_wait = models.BigIntegerField(default=0, db_default=0)  # microseconds from due to started

    class Meta(OfThisApp):
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["queue", "minute"], name="tinystore_minute_name")]

    def __str__(self) -> str:
        return f"{self.queue} {self.minute}"
