"""The shop's queues and its schedule. tinystore_django imports this module of every installed app."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from django.core.mail import send_mail
from django.utils import timezone

from tinystore_django import Backoff, Outcome, Run, store

from .models import Order, Video

FORGOTTEN_AFTER = timedelta(days=90)

# Two domains whose mail servers misbehave, to see what a queue does about it.
BUSY = "@busy.example"
NOWHERE = "@nowhere.example"


@dataclass(frozen=True)
class Confirmation:
    """The email that thanks for an order."""

    order: int
    to: str


# Done jobs stay a day, so that the admin can show them.
emails = store.queue("emails", Confirmation, attempts=5, backoff=Backoff("500ms", "1h"), concurrency=4, keep_done="1d")


@emails.handler
def send(email: Confirmation, run: Run) -> Outcome | None:
    """Sends the email, and notes on the order that it did."""
    if email.to.endswith(NOWHERE):
        return run.fail(f"550 there is no mailbox {email.to}")
    if email.to.endswith(BUSY) and run.attempt == 1:
        raise ConnectionError("421 the mail server is busy, try again later")
    send_mail(f"Your order {email.order}", "Thank you! It is on its way.", None, [email.to])
    Order.objects.filter(pk=email.order).update(confirmed_at=timezone.now(), tries=run.attempt)
    return None


@dataclass(frozen=True)
class Clip:
    """A customer's video, to be encoded."""

    video: int
    seconds: int


PARTS = 20

# One at a time. A done job keeps its id for an hour, so that a page that is opened late still hears that it is done.
videos = store.queue("videos", Clip, concurrency=1, dedupe="1h")


@videos.handler
def encode(clip: Clip, run: Run) -> None:
    """Stands for an encoder: it takes a fiftieth of the clip's length, and says how far it is."""
    for done in range(PARTS):
        run.set_progress({"done": done, "total": PARTS})
        time.sleep(clip.seconds / 50 / PARTS)
    Video.objects.filter(pk=clip.video).update(ready_at=timezone.now())


cleanup = store.schedule("cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")


@cleanup.handler
def forget_old_orders() -> None:
    """Deletes orders that are older than we may keep them."""
    Order.objects.filter(placed_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()
