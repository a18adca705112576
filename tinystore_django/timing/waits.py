"""How long a thread may wait at once."""

from __future__ import annotations

# Seconds. No lock can be waited for for longer than 292 years, no socket for 25 days.
LONGEST = 3600.0


def bounded(seconds: float) -> float:
    """Return how many of these seconds to wait for now: whoever waits looks again after it, and waits for the rest."""
    return min(max(seconds, 0.0), LONGEST)
