from __future__ import annotations

from django.db import models
from django.urls import reverse


class Order(models.Model):
    """What a customer bought. Its email is sent by a job, which fills in the last two columns."""

    class Item(models.TextChoices):
        TEAPOT = "teapot", "Teapot, 24.00 €"
        CUPS = "cups", "Two cups, 12.50 €"
        TEA = "tea", "Darjeeling, 100 g, 8.90 €"

    email = models.EmailField()
    item = models.CharField(max_length=20, choices=Item.choices, default=Item.TEAPOT)
    placed_at = models.DateTimeField(auto_now_add=True, db_index=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField("tries of its email", default=0)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"order {self.pk} of {self.email}"

    def get_absolute_url(self) -> str:
        return reverse("order", args=[self.pk])

    @property
    def job_id(self) -> str:
        """What the job of its email is known by."""
        return f"order-{self.pk}"


class Video(models.Model):
    """A film of a tea that a customer sent in. It is shown once a job has encoded it."""

    title = models.CharField(max_length=80)
    seconds = models.PositiveSmallIntegerField("length in seconds", default=60)
    added_at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("video", args=[self.pk])

    @property
    def job_id(self) -> str:
        """What the job that encodes it is known by."""
        return f"video-{self.pk}"
