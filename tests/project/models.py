"""Rows that tests write beside their jobs, and in their handlers.

The times are the real ones, of the process that wrote the row: a test's clock does not move them.
"""

from __future__ import annotations

import os
import time

from django.db import models


class Order(models.Model):
    """What a view saves in the transaction that adds a job."""

    email = models.CharField(max_length=200)
    paid = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"order {self.pk} of {self.email}"


class Moment(models.Model):
    """When something happened in a run, and in which process."""

    name = models.CharField(max_length=200, db_index=True)
    attempt = models.IntegerField(default=0)
    at = models.FloatField(default=time.time)
    process = models.IntegerField(default=os.getpid)

    class Meta:
        abstract = True
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.name}, attempt {self.attempt}"


class Start(Moment):
    """A handler began."""


class End(Moment):
    """A handler reached its last line."""


class Mark(Moment):
    """A handler did what it is for: with its Start and End missing or doubled, a test sees what was lost."""


class Event(models.Model):
    """What befell a job's row, written by a trigger in the very transaction (see tests/races/oracle.py), or what its
    handler did, written on the handler's own connection: the order of their ids is the order in which they happened."""

    what = models.CharField(max_length=10)  # ready, running, failed, done, aside, gone; of a handler: began, ended
    queue = models.TextField()
    key = models.TextField(null=True)
    group = models.TextField(null=True)
    job = models.BigIntegerField(null=True)
    run = models.IntegerField(null=True)
    attempt = models.IntegerField()
    lease = models.BigIntegerField(null=True)
    at = models.BigIntegerField(null=True)  # microseconds: when it may start
    started_at = models.BigIntegerField(null=True)
    cancelled = models.BooleanField(default=False, db_default=False)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.queue}/{self.key} {self.what}, attempt {self.attempt}"
