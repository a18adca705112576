"""A worker's round: what finished is settled and due jobs are claimed, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db import OperationalError

from ..databases import database
from ..databases.base import Database
from ..databases.rows import Claimed, Fence
from ..databases.troubles import is_refusal
from . import limiting
from .asking import Asked, Limited
from .floors import Floors
from .refused import settle_all, settle_each
from .settling import Finished, Settling, settle


def turn(alias: str, lease: int, finished: Sequence[Finished], asked: Asked) -> tuple[Settling, Claimed | None]:
    """Settles the finished runs, then claims due jobs of each queue asked for; none asked for, nothing."""
    try:
        return _turn(alias, lease, finished, asked)
    except Exception as error:
        asked.counts.forget()
        if finished and is_refusal(error):
            return _turn_apart(alias, lease, finished, asked)
        if not (isinstance(error, OperationalError) and database(alias).is_locked_out(error)):
            raise
    # Somebody's open transaction holds the row of a queue: the runs are settled, and the other queues go on.
    settling, claimed = _turn(alias, lease, finished, asked.unlimited())
    if not asked.wanted:
        return settling, None
    # That is not to be taken for nothing due.
    claimed = claimed or Claimed(database(alias).now())
    return settling, replace(claimed, next_due=claimed.now, floored=True)


def _turn_apart(alias: str, lease: int, finished: Sequence[Finished], asked: Asked) -> tuple[Settling, Claimed | None]:
    """The same where the database refuses what one of the runs ended in: the others do not wait for it."""
    settling = settle_each(alias, finished)
    try:
        return settling, turn(alias, lease, (), asked)[1]
    except Exception as error:
        if not is_refusal(error):
            raise
        # It was the claim that was refused: the next round says so.
        return settling, None


def _turn(alias: str, lease: int, finished: Sequence[Finished], asked: Asked) -> tuple[Settling, Claimed | None]:
    look = limiting.look(alias, asked)
    plain = asked.plain(look)
    shared = sorted(queue for queue in look.due if queue in asked.limits and queue not in plain)
    if shared:
        settling, claims = _shared_turn(alias, lease, finished, asked, plain, shared)
    else:
        settling, claims = _plain_turn(alias, lease, finished, asked, plain)
    claims.append(Claimed(look.now, next_due=look.next_due))
    return settling, limiting.together(claims) if asked.wanted else None


def claim(
    alias: str, lease: int, wanted: Mapping[str, int], limits: Limited | None = None, floors: Floors | None = None
) -> Claimed:
    """Marks up to `wanted[queue]` due jobs of each queue as running. What it took is in the order to start it; where
    it took none, none is due."""
    asked = Asked(wanted, limits or {}, floors=floors or Floors())
    claimed = _claimed(alias, lease, asked)
    if claimed.floored and not claimed.held:
        asked.floors.forget()
        claimed = _claimed(alias, lease, asked)
    return claimed


def _claimed(alias: str, lease: int, asked: Asked) -> Claimed:
    claimed = turn(alias, lease, (), asked)[1]
    assert claimed is not None
    return claimed


def _shared_turn(
    alias: str, lease: int, finished: Sequence[Finished], asked: Asked, plain: Mapping[str, int], queues: Sequence[str]
) -> tuple[Settling, list[Claimed]]:
    """A round with queues whose groups or rates are limited."""
    store = database(alias)
    lets_go = not store.in_transaction()
    with store.own_transaction():
        settling = settle(alias, finished)
        claims = [_claim(store, lease, asked, plain, lets_go=lets_go)] if plain else []
        # Last, for what all workers wait for is held until the commit.
        claims.append(limiting.claim(store, lease, asked, queues, lets_go))
    return settling, claims


def _plain_turn(
    alias: str, lease: int, finished: Sequence[Finished], asked: Asked, wanted: Mapping[str, int]
) -> tuple[Settling, list[Claimed]]:
    if not (finished or wanted):
        return Settling({}, ()), []
    if wanted and all(one.goes_alone for one in finished):
        return _one_trip(alias, lease, finished, asked, wanted)
    return _two_steps(alias, lease, finished, asked, wanted)


def _two_steps(
    alias: str, lease: int, finished: Sequence[Finished], asked: Asked, wanted: Mapping[str, int]
) -> tuple[Settling, list[Claimed]]:
    store = database(alias)
    lets_go = not store.in_transaction()
    with store.own_transaction():
        settling = settle(alias, finished)
        return settling, [_claim(store, lease, asked, wanted, lets_go=lets_go)] if wanted else []


def _one_trip(
    alias: str, lease: int, finished: Sequence[Finished], asked: Asked, wanted: Mapping[str, int]
) -> tuple[Settling, list[Claimed]]:
    """Most runs are done and leave nothing: their rows go in the statement that claims."""
    claimed = _claim(database(alias), lease, asked, wanted, [one.held.fence for one in finished])
    rest = [one for one in finished if one.held.fence not in claimed.removed]
    if rest and not claimed.held:  # one of them may have a next run, which may come before all others
        asked.floors.forget()
        settling, claims = _two_steps(alias, lease, rest, asked, wanted)
    else:
        settling, claims = settle_all(alias, rest), [claimed]
    return Settling({**dict.fromkeys(claimed.removed, "done"), **settling.outcomes}, settling.left), claims


def _claim(
    store: Database,
    lease: int,
    asked: Asked,
    wanted: Mapping[str, int],
    ended: Sequence[Fence] = (),
    lets_go: bool = False,
) -> Claimed:
    totals, starts = asked.totals(wanted), asked.floors.starts()
    taken = asked.counts.take([queue for queue in totals if wanted[queue] > 0], store.session())
    counts = {queue: link.count for queue, link in taken.items() if link.count}
    claimed = store.claim(lease, wanted, ended, totals, lets_go, starts, counts)
    asked.counts.note(taken, claimed.now, claimed.counted, claimed.old)
    return asked.floors.note(wanted, starts, totals, claimed)
