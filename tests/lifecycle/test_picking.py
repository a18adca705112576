"""Which due jobs start and which make way: the rule alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.lifecycle.limited import group_of
from tinystore_django.databases.rows import Waiting
from tinystore_django.lifecycle.picking import Picked, Room, pick, room_beside, without
from tinystore_django.options import Concurrency, QueueOptions, queue_options
from tinystore_django.timing.rates import Starts

NOW = 10_000_000


def waiting(keys: str) -> list[Waiting]:
    """Jobs in this order; "a1" is of group "a", "-1" of none."""
    return [Waiting(number, number, group_of(key)) for number, key in enumerate(keys.split())]


def shown(keys: str, jobs: list[Waiting]) -> str:
    return " ".join(keys.split()[one.id] for one in jobs)


def picks(keys: str, room: Room, most: int = 10) -> tuple[str, str]:
    picked = pick(waiting(keys), room, most)
    return shown(keys, picked.jobs), shown(keys, picked.aside)


def room(running: str = "", **limits: Any) -> Room:
    return Room(queue_options(**limits), NOW, running=Counter(map(group_of, running.split())))


@pytest.mark.parametrize(
    ("limits", "keys", "jobs", "aside"),
    [
        ({"concurrency": 3}, "a1 a2 -1", "a1 a2 -1", ""),
        ({"concurrency": Concurrency(group=1)}, "a1 a2 b1 -1 a3 -2", "a1 b1 -1 -2", "a2 a3"),
        ({"concurrency": Concurrency(group=2)}, "a1 a2 a3", "a1 a2", "a3"),
        ({"group_rate": "1/s"}, "a1 a2 b1 -1", "a1 b1 -1", "a2"),
        ({"concurrency": Concurrency(group=2), "group_rate": "1/s"}, "a1 a2 b1", "a1 b1", "a2"),
        ({"concurrency": Concurrency(group=1), "group_rate": "2/s"}, "a1 a2 b1", "a1 b1", "a2"),
    ],
    ids=str,
)
def test_the_first_of_each_group_start_and_those_behind_them_make_way(
    limits: Any, keys: str, jobs: str, aside: str
) -> None:
    assert picks(keys, room(**limits)) == (jobs, aside)


def test_no_job_makes_way_behind_the_last_that_starts() -> None:
    assert picks("a1 a2 b1 a3 b2", room(concurrency=Concurrency(group=1)), 2) == ("a1 b1", "a2")
    assert picks("a1 a2", room(concurrency=Concurrency(group=1)), 0) == ("", "")


def test_what_runs_already_counts() -> None:
    at_work = room("a1 a2 b1 -1", concurrency=Concurrency(total=6, group=2))

    assert at_work.left() == 2
    assert (at_work.left_in("a"), at_work.left_in("b"), at_work.left_in("c")) == (0, 1, 2)
    assert picks("a3 b2 b3 -2", at_work) == ("b2 -2", "a3 b3")


def test_more_than_a_limit_that_was_lowered_leave_no_room_rather_than_less() -> None:
    full = room("a1 a2 a3", concurrency=Concurrency(total=2, group=1))

    assert (full.left(), full.left_in("a")) == (0, 0)


def test_a_queue_without_limits_bounds_nothing() -> None:
    assert (room().left(), room().left_in("a")) == (None, None)


def test_what_starts_takes_room_of_every_limit() -> None:
    one = room(concurrency=Concurrency(total=5, group=4), rate="3/s", group_rate="2/s")

    one.start(["a", None])

    assert (one.left(), one.left_in("a"), one.left_in("b")) == (1, 1, 2)
    assert one.starts == Starts(((NOW, 2),))
    assert one.of_groups == {"a": Starts(((NOW, 1),))}


def test_the_groups_of_jobs_that_others_hold_are_not_set_aside() -> None:
    first, second, other = waiting("a1 a2 b1")

    assert without([second, other], [first]) == [other]
    assert without([], [first]) == Picked([], []).jobs


@pytest.mark.parametrize(
    ("limits", "running", "ready", "room"),
    [
        ({"concurrency": Concurrency(group=3)}, 1, 1, 1),
        ({"concurrency": Concurrency(group=3)}, 3, 1, -1),
        ({"group_rate": "2/s"}, 0, 0, 2),
        ({"group_rate": "2/s"}, 0, 2, 0),
        ({"concurrency": Concurrency(group=5), "group_rate": "2/s"}, 2, 0, 2),
        ({"concurrency": Concurrency(group=5), "group_rate": "2/s"}, 4, 0, 1),
        ({"concurrency": 5}, 0, 0, 0),
    ],
    ids=str,
)
def test_as_many_may_come_back_as_could_start_beside_those_ready(
    limits: Any, running: int, ready: int, room: int
) -> None:
    options: QueueOptions = queue_options(**limits)

    assert room_beside(options, running, ready) == room
