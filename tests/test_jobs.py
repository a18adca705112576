"""A job as its queue shows it."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tinystore_django.errors import CorruptError
from tinystore_django.jobs import Job, JobPage, LastRun, Unreadable

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Email:
    to: str


def job(kept: Any) -> Job[Email]:
    return Job(id="a", value=kept, state="waiting", at=NOON, group="ada")


def test_a_job_has_the_value_that_was_added() -> None:
    assert job(Email("ada")).value == Email("ada")


def test_a_job_that_was_never_run_has_no_attempt_and_nothing_of_a_run() -> None:
    shown = job(Email("ada"))

    assert (shown.attempt, shown.ahead) == (0, 0)
    assert (shown.progress, shown.error, shown.repeat, shown.last_run) == (None, None, None, None)


def test_a_value_that_no_longer_reads_is_corrupt_while_the_rest_of_the_job_works() -> None:
    shown = job(Unreadable("value.to: Expected str, got int"))

    for _ in range(2):
        with pytest.raises(CorruptError, match=r"^value\.to: Expected str, got int$"):
            _ = shown.value
    assert (shown.id, shown.state, shown.at, shown.group) == ("a", "waiting", NOON, "ada")


def test_jobs_are_compared_by_all_they_show() -> None:
    assert job(Email("ada")) == job(Email("ada"))
    assert job(Email("ada")) != job(Email("bob"))
    assert job(Email("ada")) != replace(job(Email("ada")), attempt=1)
    assert job(Unreadable("no")) == job(Unreadable("no"))
    assert job(Unreadable("no")) != job(Email("ada"))


def test_a_job_shows_itself_whether_its_value_reads_or_not() -> None:
    assert repr(job(Email("ada"))).startswith("Job(id='a', value=Email(to='ada'), state='waiting', at=datetime")
    assert repr(job(Unreadable("no"))).startswith("Job(id='a', value=Unreadable(why='no'), state='waiting', ")


@pytest.mark.parametrize("shown", [job(Email("ada")), LastRun(NOON, NOON), JobPage([])])
def test_what_a_queue_shows_cannot_be_changed(shown: Any) -> None:
    for name in shown.__dataclass_fields__:
        with pytest.raises(FrozenInstanceError):
            setattr(shown, name, None)


def test_a_job_and_a_page_may_be_made_with_their_type() -> None:
    page = JobPage[Email]([Job[Email](id=None, value=Email("ada"), state="waiting", at=NOON)])

    assert page.jobs[0].value.to == "ada"
    assert page.next is None


def test_a_job_as_a_dictionary_has_the_names_that_a_program_knows() -> None:
    shown = asdict(job(Email("ada")))

    assert shown["value"] == {"to": "ada"}
    assert [*shown] == [one.name for one in fields(Job)]
    assert "kept" not in shown
    assert replace(job(Email("ada")), value=Email("bob")).value == Email("bob")
    assert pickle.loads(pickle.dumps(job(Email("ada")))) == job(Email("ada"))
    assert {job("text"): 1}[job("text")] == 1


def test_a_job_whose_value_no_longer_reads_says_so_as_a_dictionary_too() -> None:
    with pytest.raises(CorruptError, match="no"):
        asdict(job(Unreadable("no")))
