"""The reference names everything there is to use."""

from __future__ import annotations

import argparse
import re

import pytest

from tests.docs.pages import ROOT
from tinystore_django import conf, errors, queues, runs, schedules, signals, stores, testing
from tinystore_django.lifecycle.placing import When
from tinystore_django.management.commands.tinystore_work import Command


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / f"{name}.md").read_text()


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def missing(names: set[str], text: str) -> set[str]:
    """The names that stand nowhere in the text as code, alone or called."""
    return {name for name in names if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text)}


@pytest.mark.parametrize(
    ("kind", "where"),
    [(queues.Queue, "queue"), (schedules.Schedule, "schedule"), (runs.Run, "run")],
    ids=["Queue", "Schedule", "Run"],
)
def test_every_call_is_in_the_reference(kind: type, where: str) -> None:
    assert missing(public(kind), page(where)) == set()


def test_every_option_of_a_queue_is_in_the_reference() -> None:
    assert missing(set(stores.Options.__annotations__), page("queue")) == set()


def test_every_word_about_a_jobs_time_is_in_the_reference() -> None:
    assert missing(set(When.__annotations__), page("queue")) == set()


def test_every_flag_of_the_worker_is_in_the_reference() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    Command().add_arguments(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings}

    assert {
        flag for flag in flags if f"| `{flag}" not in page("worker") and f", `{flag}`" not in page("worker")
    } == set()


def test_every_setting_is_in_the_reference_with_its_default() -> None:
    lines = page("worker").splitlines()
    shown = {name: f'"{default}"' if isinstance(default, str) else default for name, default in conf.DEFAULTS.items()}

    assert [
        name for name in shown if not any(line.startswith(f"| `{name}` | `{shown[name]}` |") for line in lines)
    ] == []


def test_every_error_is_in_the_reference() -> None:
    assert missing({name for name in public(errors) if name.endswith(("Error", "Stopped"))}, page("errors")) == set()


def test_every_signal_is_in_the_reference() -> None:
    assert missing({name for name in public(signals) if name.startswith("job_")}, page("signals")) == set()


def test_every_tool_for_tests_is_in_the_reference() -> None:
    tools = {"clock", "run_due", "assert_added", "assert_not_added", *public(testing.Clock)}

    assert missing(tools, page("testing")) == set()
