"""The command that shows what repeats, and cancels it."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.byhand import Hand, after
from tinystore_django import Queue, Schedule, Store, models
from tinystore_django.databases import database
from tinystore_django.databases.rows import NewJob
from tinystore_django.lifecycle import repeating
from tinystore_django.lifecycle.pausing import pause, resume
from tinystore_django.management.commands import tinystore_schedules
from tinystore_django.testing import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def cleanup(shop: Store, clock: Clock) -> Schedule:
    cleanup = shop.schedule("cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")
    cleanup.handler(lambda: None)
    return cleanup


@pytest.fixture
def reports(shop: Store, clock: Clock) -> Queue[Any]:
    reports = shop.queue("reports", attempts=2)
    reports.handler(lambda value: None)
    return reports


def says(*arguments: Any, **options: Any) -> list[str]:
    out = StringIO()
    call_command("tinystore_schedules", *arguments, stdout=out, **options)
    return out.getvalue().splitlines()


def leave_behind(queue: str, key: str, **about: Any) -> None:
    """The row of a queue or schedule that no code declares."""
    database("default").insert(NewJob(queue, "null", key, **{"repeat": "@every 1h +0ms", "delay": 1_000_000, **about}))


def test_it_shows_a_schedule_in_words_with_its_next_time_in_its_own_zone(cleanup: Schedule) -> None:
    cleanup.run_due()

    assert says() == [
        "cleanup: every day at 03:10 (Europe/Berlin)",
        "  next      2026-03-02 03:10:00+01:00 Europe/Berlin",
    ]


def test_a_schedule_that_nothing_has_opened_is_shown_with_the_time_it_would_have(cleanup: Schedule) -> None:
    assert says() == [
        "cleanup: every day at 03:10 (Europe/Berlin)",
        "  next      2026-03-02 03:10:00+01:00 Europe/Berlin, once a worker has started with it",
    ]
    assert not models.Job.objects.exists()


def test_a_cancelled_schedule_has_no_time(cleanup: Schedule) -> None:
    cleanup.run_due()
    cleanup.cancel()

    since = "2026-03-01 13:00:00+01:00 Europe/Berlin"
    assert says(next=3) == [
        "cleanup: every day at 03:10 (Europe/Berlin)",
        f"  next      never: cancelled at {since}, until a worker starts with it or it is opened in the admin",
    ]


def test_a_paused_schedule_says_since_when(cleanup: Schedule) -> None:
    cleanup.run_due()
    pause("default", "cleanup")

    assert says() == [
        "cleanup: every day at 03:10 (Europe/Berlin)",
        "  next      2026-03-02 03:10:00+01:00 Europe/Berlin",
        "  paused    since 2026-03-01 13:00:00+01:00 Europe/Berlin, until it is resumed in the admin",
    ]

    resume("default", "cleanup")
    assert len(says()) == 2


def test_a_repeating_job_says_that_its_queue_is_paused(reports: Queue[Any], cleanup: Schedule) -> None:
    reports.add(7, id="7", every="1h")
    pause("default", "reports")

    assert [line for line in says("cleanup") if "paused" in line] == []
    assert [line for line in says("reports") if "paused" in line] != []


def test_the_last_run_how_long_it_took_and_the_first_line_of_its_error_are_shown(
    shop: Store, clock: Clock, settings: Any
) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    pulse = shop.schedule("pulse", every="1h", attempts=1)

    @pulse.handler
    def beat() -> None:
        clock.advance("1s250ms")
        raise ValueError("no \x1b[31mluck\nand more")

    pulse.run_due()
    clock.advance("1h")
    pulse.run_due()

    lines = says()

    assert lines[0] == "pulse: every 1h"
    assert lines[2:] == [
        "  last run  2026-03-01 22:00:00+09:00 Asia/Tokyo, took 1s250ms",
        r"  error     no \x1b[31mluck",
    ]


def test_a_long_error_is_cut(reports: Queue[Any], hand: Hand) -> None:
    reports.add(1, id="7", every="1h", delay="0s")
    hand.end(hand.take_one(reports), "retry", "x" * 5000, delay=0)

    assert f"  error     {'x' * 200}…" in says()


def test_an_error_that_quotes_a_value_is_not_shown_where_the_project_hides_values(
    reports: Queue[Any], hand: Hand, settings: Any
) -> None:
    reports.add(1, id="7", every="1h", delay="0s")
    told = "its value no longer reads: value: Invalid enum value 'secret'"
    hand.end(hand.take_one(reports), "retry", told, delay=0)
    assert f"  error     {told}" in says()

    settings.TINYSTORE = {"REDACT": "shop.redact"}

    assert "  error     its value no longer reads" in says()


def test_the_coming_times_are_shown_with_their_zone_across_a_change_of_its_clocks(cleanup: Schedule) -> None:
    leap = after(days=26, hours=1)
    cleanup.run_due()
    models.Job.objects.update(at=leap.replace(hour=2, minute=10), due=leap)

    assert says(next=4)[1:] == [
        "  next      2026-03-27 03:10:00+01:00 Europe/Berlin",
        "  then      2026-03-28 03:10:00+01:00 Europe/Berlin",
        "  then      2026-03-29 03:10:00+02:00 Europe/Berlin",
        "  then      2026-03-30 03:10:00+02:00 Europe/Berlin",
    ]


@pytest.mark.parametrize("count", [0, -1])
def test_no_times_at_all_cannot_be_asked_for(count: int, cleanup: Schedule) -> None:
    with pytest.raises(CommandError, match=r"^--next "):
        says(next=count)


def test_the_times_end_with_the_calendar(reports: Queue[Any], clock: Clock) -> None:
    clock.set(after().replace(year=9999, month=12, day=31, hour=22))
    reports.add(1, id="7", cron="0 * * * *", time_zone="UTC")

    assert says(next=5)[1:] == ["  next      9999-12-31 23:00:00+00:00 UTC"]


def test_a_time_that_its_zone_cannot_show_is_shown_in_utc(reports: Queue[Any]) -> None:
    reports.add(
        1, id="7", cron="0 * * * *", time_zone="Asia/Tokyo", at=after().replace(year=9999, month=12, day=31, hour=22)
    )

    assert says()[1] == "  next      9999-12-31 22:00:00+00:00 UTC"


def test_what_is_due_what_runs_and_what_waits_for_a_retry_say_so(reports: Queue[Any], hand: Hand, clock: Clock) -> None:
    for id in ("due", "runs", "waits"):
        reports.add(1, id=id, cron="0 * * * *", time_zone="UTC", at=after(seconds={"runs": -2, "waits": -1}.get(id, 0)))
    _, waits = hand.take(reports, 2)
    hand.end(waits, "retry", "no luck", delay=60_000_000)

    assert says(next=2) == [
        "reports/due: every hour at minute 0 (UTC)",
        "  next      2026-03-01 12:00:00+00:00 UTC, due now",
        "  then      2026-03-01 13:00:00+00:00 UTC",
        "reports/runs: every hour at minute 0 (UTC)",
        "  next      now: it runs, and was due at 2026-03-01 11:59:58+00:00 UTC",
        "  then      2026-03-01 13:00:00+00:00 UTC",
        "reports/waits: every hour at minute 0 (UTC)",
        "  next      2026-03-01 12:01:00+00:00 UTC, a retry after attempt 1",
        "  then      2026-03-01 13:00:00+00:00 UTC",
        "  last run  2026-03-01 12:00:00+00:00 UTC, took 0s",
        "  error     no luck",
    ]


def test_schedules_come_first_and_then_the_jobs_of_queues_by_their_ids(cleanup: Schedule, reports: Queue[Any]) -> None:
    for id in ("b", "a", "reports"):
        reports.add(1, id=id, every="1h")
    reports.add(1, id="plain")
    leave_behind("a-queue", "z")

    heads = [line.partition(":")[0] for line in says() if not line.startswith(" ")]

    assert heads == ["cleanup", "reports/reports", "a-queue/z", "reports/a", "reports/b"]


def test_what_no_code_declares_says_that_it_is_not_run_and_how_to_cancel_it(clock: Clock) -> None:
    leave_behind("old", "old")
    leave_behind("older", "7")

    lines = says()

    assert (lines[0], lines[3]) == ("old: every 1h", "older/7: every 1h")
    assert lines[2] == "  not run   its code is gone: declare it again, or --cancel old"
    assert lines[5] == "  not run   its code is gone: declare it again, or --cancel older/7"


def test_a_schedule_without_a_handler_says_so(shop: Store, clock: Clock) -> None:
    shop.schedule("pulse", every="1h")

    assert says()[2] == "  not run   it has no handler"


def test_a_repeat_that_no_longer_reads_is_shown_as_its_row_keeps_it(
    reports: Queue[Any], hand: Hand, clock: Clock
) -> None:
    reports.add(1, id="7", every="1h", delay="0s")
    held = hand.take_one(reports)
    models.Job.objects.update(repeat="0 3 * * * Mars/Olympus")
    hand.end(held)

    shown = says(next=3)

    assert shown[0] == "reports/7: '0 3 * * * Mars/Olympus', which no longer reads"
    assert shown[1] == "  next      once its repeat reads again"
    assert [line[:12] for line in shown[2:]] == ["  last run  ", "  error     "]


@pytest.mark.parametrize(
    ("names", "heads"),
    [
        (["cleanup"], ["cleanup"]),
        (["reports"], ["reports/a", "reports/b/c"]),
        (["reports/b/c"], ["reports/b/c"]),
        (["reports/a", "cleanup"], ["cleanup", "reports/a"]),
        (["reports/"], ["reports/a", "reports/b/c"]),
    ],
)
def test_a_schedule_a_queue_or_one_job_may_be_named(
    names: list[str], heads: list[str], cleanup: Schedule, reports: Queue[Any]
) -> None:
    for id in ("a", "b/c"):
        reports.add(1, id=id, every="1h")

    assert [line.partition(":")[0] for line in says(*names) if not line.startswith(" ")] == heads


def test_where_nothing_repeats_or_nothing_by_that_name_it_says_so(clock: Clock, reports: Queue[Any]) -> None:
    reports.add(1, id="plain")

    assert says() == ["nothing repeats in database 'default'"]
    assert says("reports/plain") == ["nothing repeats in database 'default' by that name"]


@pytest.mark.parametrize("name", ["", "/7", "reports/\udc80", "\udc80", "x" * 2000])
def test_a_name_that_cannot_be_is_refused(name: str, clock: Clock) -> None:
    with pytest.raises(CommandError, match=r"^name .*: write a schedule, a queue, or"):
        says(name)


def test_only_the_first_are_shown_unless_all_are_asked_for(
    reports: Queue[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tinystore_schedules, "MOST", 3)
    monkeypatch.setattr(repeating, "PAGE", 2)
    for number in range(5):
        reports.add(1, id=str(number), every="1h")
    for key in "12345":
        leave_behind("a-queue", key)

    few, every = says(), says(all=True)

    assert few[-1] == "the first 3 are shown: name a queue or a queue/id, or add --all"
    assert len([line for line in few if not line.startswith(" ")]) == 3 + 1
    assert [line for line in every if not line.startswith(" ")] == [
        *(f"a-queue/{key}: every 1h" for key in "12345"),
        *(f"reports/{number}: every 1h" for number in range(5)),
    ]


@pytest.mark.parametrize("gone", [True, False])
def test_cancel_takes_a_schedule_away_whether_or_not_its_code_is_gone(
    gone: bool, cleanup: Schedule, shop: Store
) -> None:
    cleanup.run_due()
    if gone:
        shop._registry.declarations.clear()

    lines = says(cancel="cleanup")

    assert not models.Job.objects.exists()
    assert lines == [
        "cleanup is cancelled" + ("" if gone else ", until a worker starts with it: take it out of the code")
    ]


def test_cancel_of_a_running_job_tells_its_handler_to_stop(reports: Queue[Any], hand: Hand) -> None:
    reports.add(1, id="a/7", every="1h", delay="0s")
    held = hand.take_one(reports)

    assert says(cancel="reports/a/7") == ["reports/a/7 is cancelled"]

    assert models.Job.objects.get().cancelled
    assert says() == ["nothing repeats in database 'default'"]
    assert hand.end(held, "retry", "stopped") == "cancelled"


@pytest.mark.parametrize("name", ["reports/plain", "reports/none", "reports", "none"])
def test_cancel_leaves_what_does_not_repeat(name: str, reports: Queue[Any]) -> None:
    reports.add(1, id="plain")

    with pytest.raises(CommandError, match=rf"^nothing by the name '{name}' repeats"):
        says(cancel=name)
    assert reports.get("plain") is not None


@pytest.mark.django_db(databases=["default", "other"])
def test_another_database_can_be_named(cleanup: Schedule) -> None:
    other = Store(using="other").schedule("elsewhere", every="1h")
    other.run_due(lambda run: None)

    assert [line for line in says(database="other") if not line.startswith(" ")] == ["elsewhere: every 1h"]
    assert says()[0].startswith("cleanup: ")
    other._declaration.registry.declarations.clear()


def test_before_migrate_has_run_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinystore_django.worker.startup.unmigrated", lambda alias: True)

    with pytest.raises(CommandError, match="run manage.py migrate$"):
        says()


def test_a_job_is_read_without_its_value(reports: Queue[Any], django_assert_num_queries: Any) -> None:
    for number in range(5):
        reports.add("x" * 1000, id=str(number), every="1h")

    with django_assert_num_queries(2) as asked:
        assert len(list(repeating.others("default"))) == 5
    assert all('"value"' not in query["sql"] for query in asked.captured_queries)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_a_console_of_any_encoding_shows_what_it_has_no_sign_for_as_escapes(
    encoding: str, reports: Queue[Any], clock: Clock
) -> None:
    reports.add(1, id="Grüße \U0001f600", every="1h")
    console = TextIOWrapper(BytesIO(), encoding=encoding)

    call_command("tinystore_schedules", stdout=console)

    console.seek(0)
    head = console.readline()
    assert "\\U0001f600" in head
    assert ("Grüße" in head) == (encoding != "ascii")
