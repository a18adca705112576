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
