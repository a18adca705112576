"""What a customer sees: an order and the job of its email, both or neither; a video that is followed live."""

import json

from django.test import Client, TestCase
from django.urls import reverse

from shop.jobs import Clip, Confirmation, cleanup, emails, videos
from shop.models import Order, Video
from shop.payments import DECLINED
from tinystore_django.models import Job
from tinystore_django.testing import assert_added, assert_not_added, run_due

CARD = "4242 4242 4242 4242"


class OrderTests(TestCase):
    def test_an_order_is_saved_with_the_job_of_its_email(self) -> None:
        answer = place(self.client, "ada@example.com")

        order = Order.objects.get()
        self.assertRedirects(answer, reverse("order", args=[order.pk]))
        assert_added(emails, Confirmation(order.pk, "ada@example.com"), id=f"order-{order.pk}")

    def test_a_declined_card_leaves_neither_an_order_nor_a_job(self) -> None:
        answer = place(self.client, "ada@example.com", DECLINED)

        self.assertContains(answer, "Your card was declined.")
        assert not Order.objects.exists()
        assert_not_added(emails)

    def test_an_order_without_an_address_is_not_placed(self) -> None:
        answer = place(self.client, "")

        self.assertContains(answer, "This field is required.")
        assert not Order.objects.exists()


class StatusTests(TestCase):
    def test_an_orders_status_follows_its_job(self) -> None:
        place(self.client, "ada@example.com")
        assert self.status()["state"] == "waiting"

        run_due()
        assert self.status() == {"state": "sent", "tries": 1, "error": None}

    def test_an_orders_status_tells_why_its_email_failed(self) -> None:
        place(self.client, "dan@nowhere.example")

        run_due()

        assert self.status()["state"] == "failed"
        assert "no mailbox" in self.status()["error"]

    def test_nobody_else_is_told_why_it_failed(self) -> None:
        place(self.client, "dan@nowhere.example")
        run_due()
        self.client = Client()

        assert self.status() == {"state": "failed", "tries": 1, "error": None}

    def test_the_shops_status_shows_no_error(self) -> None:
        cleanup.run_due()
        Job.objects.filter(queue=cleanup.name).update(error="no mailbox dan@nowhere.example")

        status = self.client.get(reverse("status")).json()

        assert status["cleanup"]["well"] is False
        assert "dan@nowhere" not in json.dumps(status)

    def test_an_orders_status_tells_that_its_email_was_cancelled(self) -> None:
        place(self.client, "ada@example.com")

        emails.cancel(Order.objects.get().job_id)

        assert self.status()["state"] == "cancelled"

    def test_the_shops_status_counts_orders_and_jobs(self) -> None:
        place(self.client, "ada@example.com")
        place(self.client, "dan@nowhere.example")
        run_due()

        status = self.client.get(reverse("status")).json()

        assert status["orders"] == 2
        assert status["emails"] == {"done": 1, "failed": 1}
        assert status["cleanup"]["repeat"] == "10 3 * * * Europe/Berlin"

    def status(self) -> dict[str, object]:
        answer: dict[str, object] = self.client.get(reverse("order-status", args=[Order.objects.get().pk])).json()
        return answer


class VideoTests(TestCase):
    def test_a_video_is_saved_with_the_job_that_encodes_it(self) -> None:
        answer = self.client.post(reverse("videos"), {"title": "Steam", "seconds": 60})

        video = Video.objects.get()
        self.assertRedirects(answer, reverse("video", args=[video.pk]))
        assert_added(videos, Clip(video.pk, 60), id=f"video-{video.pk}")

    def test_a_videos_page_follows_its_events(self) -> None:
        answer = self.client.post(reverse("videos"), {"title": "Steam", "seconds": 60}, follow=True)

        self.assertContains(answer, f'data-job-events="/videos/{Video.objects.get().pk}/events/"')

    async def test_whoever_sent_a_video_in_sees_it_done(self) -> None:
        await self.async_client.post(reverse("videos"), {"title": "Steam", "seconds": 1})
        video = await Video.objects.aget()
        await videos.arun_due()

        answer = await self.async_client.get(reverse("video-events", args=[video.pk]))

        done, end = [part.decode() async for part in answer]
        assert json.loads(done.removeprefix("data: "))["state"] == "done"
        assert end.startswith("event: end")
        await video.arefresh_from_db()
        assert video.ready_at is not None

    async def test_nobody_else_sees_it(self) -> None:
        video = await Video.objects.acreate(title="Steam")

        answer = await self.async_client.get(reverse("video-events", args=[video.pk]))

        assert answer.status_code == 403


def place(client: Client, email: str, card: str = CARD) -> object:
    return client.post(reverse("shop"), {"email": email, "item": "teapot", "card": card})
