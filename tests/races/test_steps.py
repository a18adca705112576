"""Steps under kill -9: what was kept is not done again, and atomic ones are done exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import other_settings, script

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


# A killed process loses nothing that the system was given, so there is no need to wait for the disk.
QUICK = """
if CHOSEN == "sqlite":
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
"""


def test_under_kills_a_kept_step_runs_once_an_atomic_ones_rows_exist_once_and_a_stale_worker_keeps_none(
    tmp_path: Path,
) -> None:
    settings = other_settings(tmp_path, "quick_settings", QUICK)

    with script("from tests.races.each_step import main; main()", **settings) as program:
        program.wait_for_line("ended", seconds=120)

    assert program.said("in turn ") == ["in turn 1 1 1 1 1 0"]
    assert set(program.said("rows ")) == {"rows 1 1 1 1 1 1 1 0 0"}
    (killed,) = program.said("killed ")
    assert int(killed.split()[1]) >= 50
    assert program.said("told:") == ["told: the run is no longer its job's own: its step was not kept"]
    # The stale one's function ran, as its own rows say; its answer was kept nowhere.
    assert program.said("marks") == ["marks first late 0"]
