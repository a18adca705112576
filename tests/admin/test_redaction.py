"""What a project does not let its operators see."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import Page, Pages
from tests.byhand import Hand, row
from tinystore_django import Queue, Store, models
from tinystore_django.admin import redaction
from tinystore_django.lifecycle import stepping

pytestmark = pytest.mark.django_db
HERE = __name__
SECRET = "4111-1111"


def redact(queue: str, value: Any) -> Any:
    """A project's function: cards are hidden in one queue."""
    if queue != "payments":
        return value
    return {**value, "card": "…"}


def broken(queue: str, value: Any) -> Any:
    raise ValueError(f"cannot redact {value}")


def strange(queue: str, value: Any) -> Any:
    return object()


@pytest.fixture
def payments(shop: Store, hand: Hand) -> Queue[Any]:
    """A running job whose value, step and progress have a secret."""
    queue = shop.queue("payments")
    queue.add({"card": SECRET, "to": "ada"}, id="x")
    held = hand.take_one(queue)
    stepping.keep("default", held.fence, "charge", f'{{"card": "{SECRET}"}}')
    stepping.report("default", held.fence, f'{{"card": "{SECRET}", "done": 1, "total": 2}}')
    return queue


@pytest.fixture
def redacted(settings: Any) -> Any:
    def use(function: str) -> None:
        settings.TINYSTORE = {"REDACT": f"{HERE}.{function}"}

    return use


def test_values_answers_and_progress_are_shown_as_the_project_gives_them(
    payments: Queue[Any], redacted: Any, listed: Pages, opened: Pages
) -> None:
    redacted("redact")

    page = opened(row())

    assert SECRET not in page.html + listed().html
    assert page.field("value_shown") == '{\n  "card": "…",\n  "to": "ada"\n}'
    assert page.html.count("&quot;card&quot;: &quot;…&quot;") == 3
    assert listed().column("progress_bar") == ["50% 50%"]


def test_it_is_told_the_queue(emails: Queue[Any], redacted: Any, opened: Pages) -> None:
    redacted("redact")
    emails.add({"card": "none"})

    assert opened(row()).field("value_shown") == '{\n  "card": "none"\n}'


@pytest.mark.parametrize("function", ["broken", "strange", "gone"])
def test_a_function_that_fails_hides_all_and_is_logged(
    function: str, payments: Queue[Any], redacted: Any, listed: Pages, opened: Pages, caplog: Any
) -> None:
    redacted(function)

    page = opened(row())

    assert page.status == 200
    assert SECRET not in page.html + listed().html
    assert page.field("value_shown") == "hidden: the project's REDACT function failed"
    assert page.html.count("REDACT function failed") == 4
    assert "REDACT failed for queue payments" in caplog.text


def test_a_value_that_is_no_json_goes_through_it_too(payments: Queue[Any], redacted: Any, opened: Pages) -> None:
    redacted("redact")
    models.Job.objects.update(value=f"{{{SECRET}")

    assert SECRET not in opened(row()).html


def test_what_is_wrong_with_a_value_is_not_told_where_there_is_something_to_hide(
    shop: Store, redacted: Any, opened: Pages
) -> None:
    numbers = shop.queue("numbers", dict[str, int])
    numbers.add({"number": 1})
    models.Job.objects.update(value='{"secret": "many"}')
    redacted("redact")

    assert opened(row()).field("value_shown").startswith("It no longer reads as its queue's type. {")


def test_nothing_is_read_or_written_anew_where_nothing_is_hidden() -> None:
    assert "1E400" in str(redaction.value("emails", "1E400"))


def test_the_admin_is_there_without_a_redaction(payments: Queue[Any], admin_client: Client, opened: Pages) -> None:
    assert SECRET in Page(admin_client.get(f"/admin/tinystore_django/job/{row().pk}/change/")).html
