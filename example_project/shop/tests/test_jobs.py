"""What the shop's handlers do."""

from datetime import timedelta

from django.core import mail
from django.test import TestCase
from django.utils import timezone

from shop.jobs import FORGOTTEN_AFTER, Confirmation, cleanup, emails
from shop.models import Order
from tinystore_django.testing import clock, run_due


class EmailTests(TestCase):
    def test_a_customer_is_thanked_for_an_order(self) -> None:
        order = ordered("ada@example.com")

        assert emails.run_due() == 1

        order.refresh_from_db()
        assert mail.outbox[0].to == ["ada@example.com"]
        assert order.tries == 1
        assert order.confirmed_at is not None

    def test_an_email_that_a_busy_server_refuses_is_sent_at_the_second_attempt(self) -> None:
        with clock() as now:
            order = ordered("cleo@busy.example")
            emails.run_due()
            assert mail.outbox == []
            job = emails.get(order.job_id)
            assert job is not None
            assert (job.state, job.attempt) == ("scheduled", 1)

            now.advance("1s")
            emails.run_due()

        order.refresh_from_db()
        assert len(mail.outbox) == 1
        assert order.tries == 2

    def test_an_email_to_nowhere_is_tried_once(self) -> None:
        order = ordered("dan@nowhere.example")

        emails.run_due()

        job = emails.get(order.job_id)
        assert job is not None
        assert (job.state, job.attempt) == ("failed", 1)
        assert job.error == "550 there is no mailbox dan@nowhere.example"


class CleanupTests(TestCase):
    def test_old_orders_are_forgotten_at_night(self) -> None:
        with clock() as now:
            cleanup.run_due()
            old, young = ordered("ada@example.com"), ordered("bob@example.com")
            Order.objects.filter(pk=old.pk).update(placed_at=timezone.now() - FORGOTTEN_AFTER - timedelta(days=1))

            now.advance("25h")
            run_due()

        assert list(Order.objects.values_list("pk", flat=True)) == [young.pk]


def ordered(email: str) -> Order:
    order = Order.objects.create(email=email)
    emails.add(Confirmation(order.pk, order.email), id=order.job_id)
    return order
