"""What a project does not let its operators see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from django.test import Client
from msgspec import Meta

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


def dots(queue: str, value: Any) -> Any:
    return "…"


def as_text(queue: str, value: Any) -> Any:
    """One that has not thought of a text."""
    return value if isinstance(value, str) else redact(queue, value)


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


def test_what_is_wrong_with_a_value_is_not_told_where_there_is_something_to_hide(
    shop: Store, redacted: Any, opened: Pages
) -> None:
    numbers = shop.queue("numbers", dict[str, int])
    numbers.add({"number": 1})
    models.Job.objects.update(value='{"secret": "many"}')
    redacted("redact")

    assert (
        opened(row())
        .field("value_shown")
        .startswith("It no longer reads as its queue's type. value[...]: Expected int, got str{")
    )


def test_nothing_is_read_or_written_anew_where_nothing_is_hidden() -> None:
    assert "1E400" in str(redaction.value("emails", "1E400"))


def test_the_admin_is_there_without_a_redaction(payments: Queue[Any], admin_client: Client, opened: Pages) -> None:
    assert SECRET in Page(admin_client.get(f"/admin/tinystore_django/job/{row().pk}/change/")).html


def test_what_is_no_json_is_hidden_and_the_function_is_not_asked(
    payments: Queue[Any], redacted: Any, opened: Pages, caplog: Any
) -> None:
    redacted("as_text")
    models.Job.objects.update(value=f"{{{SECRET}")

    page = opened(row())

    assert SECRET not in page.html
    assert page.field("value_shown").endswith("hidden: it is no JSON, and REDACT is given what JSON has")
    assert "REDACT failed" not in caplog.text


@dataclass
class Card:
    kind: Literal["visa"]

    def __post_init__(self) -> None:
        if self.kind == SECRET:
            raise ValueError(f"no {self.kind}")


UNREADABLE = {
    "a member": (Literal["visa"], f'"{SECRET}"', ": it is not of its type"),
    "a field": (Card, f'{{"kind": "{SECRET}"}}', ": it is not of its type"),
    "a key": (dict[str, int], f'{{"{SECRET}": "x"}}', "[...]: Expected int, got str"),
    "its own words": (list[Annotated[str, Meta(pattern="^x$")]], f'["{SECRET}"]', ": it is not of its type"),
}


@pytest.mark.parametrize("function", ["dots", "gone"])
@pytest.mark.parametrize(("of", "text", "why"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_why_a_value_no_longer_reads_is_told_without_it(
    function: str, of: Any, text: str, why: str, shop: Store, redacted: Any, listed: Pages, opened: Pages, caplog: Any
) -> None:
    redacted(function)
    queue = shop.queue("payments", of)
    models.Job.objects.create(queue="payments", value=text, state=0, at=1, due=1, attempt=0, key="x")
    with caplog.at_level("INFO"):
        queue.run_due(lambda value: None)

    page, told = opened(row()), f"its value no longer reads: value{why}"

    assert SECRET not in page.html + listed().html + caplog.text
    assert page.field("error_shown") == told
    assert listed().column("short_error") == [told]
    assert f"It no longer reads as its queue's type. value{why}" in page.field("value_shown")


def test_what_an_earlier_worker_wrote_of_a_value_is_not_shown(
    payments: Queue[Any], redacted: Any, listed: Pages, opened: Pages
) -> None:
    redacted("redact")
    models.Job.objects.update(error=f"its value no longer reads: value['{SECRET}']: Expected int, got str")

    assert SECRET not in opened(row()).html + listed().html
    assert listed().column("short_error") == ["its value no longer reads"]


def raising(run: Any, how: str, queue: Queue[Any]) -> Any:
    """What a handler does whose error quotes a value, by our own text."""
    if how == "an answer":
        return run.step("charge", lambda: {SECRET: "x"}, of=dict[str, int])
    if how == "an add":
        return queue.add({SECRET: float("nan")})
    if how == "a progress":
        return run.set_progress({SECRET: float("nan")})
    try:
        return queue.add({SECRET: float("nan")})
    except ValueError as error:
        if how == "a retry":
            return run.retry()
        if how == "a chain":
            raise RuntimeError("it was refused") from error
        return run.fail(error)


@pytest.mark.parametrize("how", ["an answer", "an add", "a progress", "a chain", "a failure", "a retry"])
@pytest.mark.parametrize("hidden", [True, False])
def test_an_error_of_ours_that_a_handler_lets_out_quotes_a_value_only_where_nothing_is_hidden(
    how: str, hidden: bool, shop: Store, redacted: Any, opened: Pages, listed: Pages, caplog: Any
) -> None:
    if hidden:
        redacted("redact")
    queue = shop.queue("cards", attempts=1)
    queue.add(1, id="x")
    with caplog.at_level("INFO"):
        queue.run_due(lambda value, run: raising(run, how, queue))

    assert (SECRET in opened(row()).html + listed().html + caplog.text) is not hidden
    assert "test_redaction.py" in opened(row()).field("traceback_shown") or how == "a failure"
