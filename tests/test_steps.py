"""Steps: each runs once in its job's life, and a rolled back one has not run."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import transaction

from tests.project.models import Mark
from tinystore_django import Run, Store

pytestmark = pytest.mark.django_db(transaction=True)


class Undone(Exception):
    """Rolls back the block around a step."""


def mark() -> int:
    return int(Mark.objects.create(name="step").pk)


@pytest.mark.parametrize("first", [1, 2], ids=["in the first attempt", "in the second"])
def test_a_step_that_was_rolled_back_runs_again(shop: Store, first: int) -> None:
    queue = shop.queue("emails")
    queue.add("a")

    def handler(value: str, run: Run) -> object:
        if run.attempt < first:
            return run.retry("0s")
        with suppress(Undone), transaction.atomic():
            run.step("mark", mark, atomic=True)
            raise Undone
        return run.step("mark", mark, atomic=True)

    queue.run_due(handler)

    assert Mark.objects.count() == 1


def test_a_step_inside_a_block_runs_once_where_the_block_commits(shop: Store) -> None:
    queue = shop.queue("emails")
    queue.add("a")
    answers: list[int] = []

    def handler(value: str, run: Run) -> None:
        with transaction.atomic():
            answers.extend(run.step("mark", mark) for _ in range(2))
        answers.append(run.step("mark", mark))

    queue.run_due(handler)

    assert answers == [Mark.objects.get().pk] * 3


def test_a_step_that_cannot_be_called_is_refused_with_what_to_give(shop: Store) -> None:
    queue = shop.queue("emails", attempts=1)
    queue.add("a", id="a")

    queue.run_due(lambda value, run: run.step("render", 5))

    job = queue.get("a")
    assert job is not None
    assert job.error == "step function 5: give a function without arguments, such as a lambda"
