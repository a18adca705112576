"""The charts of the last hour."""

from __future__ import annotations

import re

from tinystore_django.admin.charts import of_hour
from tinystore_django.databases.rows import Sum


def bars(picture: str) -> list[tuple[int, int]]:
    """Where each bar stands, and how high it is."""
    path = re.findall(r'<path d="([^"]*)"', picture)[0]
    return [(int(place) // 3, int(height)) for place, height in re.findall(r"M(\d+) 28v-(\d+)h2v\d+z", path)]


def hour(**minutes: Sum) -> list[Sum]:
    sums = [Sum("q") for _ in range(60)]
    for place, one in minutes.items():
        sums[int(place.removeprefix("at"))] = one
    return sums


def test_a_minute_is_a_bar_and_the_highest_is_the_most() -> None:
    started, failed, wait = of_hour(hour(at0=Sum("q", 10, 1, 500_000), at30=Sum("q", 5), at59=Sum("q", 1_000)))

    assert bars(started.picture) == [(0, 2), (30, 2), (59, 28)]
    assert bars(failed.picture) == [(0, 28)]
    assert [one.caption for one in (started, failed, wait)] == ["1,015 started", "1 failed", "waited up to 500ms"]


def test_half_as_many_are_half_as_high() -> None:
    started, *_ = of_hour(hour(at1=Sum("q", 50), at2=Sum("q", 100)))

    assert bars(started.picture) == [(1, 14), (2, 28)]


def test_an_hour_without_a_run_has_no_bar() -> None:
    for chart in of_hour(hour()):
        assert bars(chart.picture) == []


def test_each_picture_says_in_words_what_it_shows() -> None:
    started, failed, wait = of_hour(hour(at3=Sum("q", 7, 2, 61_500_000)))

    assert "<title>Started in the last hour: 7, at most 7 in a minute</title>" in started.picture
    assert "<title>Failed in the last hour: 2, at most 2 in a minute</title>" in failed.picture
    assert "<title>Longest wait in the last hour: 1m1s</title>" in wait.picture
    assert all('role="img"' in one.picture for one in (started, failed, wait))
