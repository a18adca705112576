"""How the time of a call grows with the length of its text, on a machine that does other things too."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST = 20_000
LONG_ENOUGH = 0.002  # seconds that say more of a call than its overhead does; a quadratic one passes them long before
TOO_LONG = 0.5  # what no linear call takes for a text of a third less than one that was quick
MOST = 3.0
TRIES = 5


def growth(call: Callable[[str], object], text: Callable[[int], str], longest: int = LONGEST) -> float:
    """Returns how many times as long the call takes for twice the text; infinity where it is out of hand.

    A call that is still quick for the longest text is told as 1.
    """
    n, took = 16, 0.0
    while n < longest and (took := _took(call, text(n))) < LONG_ENOUGH:
        n += n // 2
    if took < LONG_ENOUGH:
        return 1.0
    if took > TOO_LONG and _best(call, text(n)) > TOO_LONG:
        return float("inf")
    once, twice = text(n), text(2 * n)
    for _ in range(TRIES):
        if (ratio := _best(call, twice) / _best(call, once)) < MOST:
            return ratio
    return float("inf")


def _best(call: Callable[[str], object], text: str) -> float:
    return min(_took(call, text) for _ in range(3))


def _took(call: Callable[[str], object], text: str) -> float:
    # Of this thread alone: what other programs do meanwhile is not counted.
    start = time.thread_time()
    call(text)
    return time.thread_time() - start
