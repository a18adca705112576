"""What a program imports, whatever it imported before."""

from __future__ import annotations

import pytest

from tests.programs import script

BEFORE = ["Run", "Worker", "testing", "lifecycle.adding", "stores"]


@pytest.mark.once
@pytest.mark.parametrize("name", BEFORE)
def test_the_store_is_the_store_whatever_was_imported_before_it(name: str) -> None:
    first = f"import tinystore_django.{name}" if name.islower() else f"from tinystore_django import {name}"

    with script(f"{first}\nfrom tinystore_django import store\nprint(type(store).__name__)") as program:
        assert program.wait() == 0
        assert program.lines == ["Store"]
