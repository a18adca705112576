"""The fixtures of `tinystore_django.testing`, for pytest to find by itself.

pytest loads this before Django is set up, so each fixture imports what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Clock


@pytest.fixture
def tinystore_clock() -> Iterator[Clock]:
    """A clock that the test moves: `tinystore_clock.advance("1h")`."""
    from .testing import clock

    with clock() as moved:
        yield moved


@pytest.fixture
def tinystore_run_due() -> Callable[..., int]:
    """Runs what is due in every declared queue and schedule: `assert tinystore_run_due() == 1`."""
    from .testing import run_due

    return run_due
